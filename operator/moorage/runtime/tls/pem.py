"""Reads certificates and keys in PEM from settings or files, and loads them into TLS contexts."""

from __future__ import annotations

import os
import ssl
import sys
from base64 import b64decode
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from moorage.errors import UnusableTls
from moorage.limited_file import read_limited
from moorage.runtime.tls.confined_file import MAX_FILE_BYTES, read_confined
from moorage.runtime.tls.pem_blocks import BEGIN, certificates_in, private_key_in

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BUNDLE_BYTES = 1 << 20
"""The largest file. A system's bundle of all public authorities has 220 kB."""


@dataclass(frozen=True, slots=True)
class Pem:
    """PEM text: `data` if it is set, otherwise the content of the file at `path`."""

    field: str
    """The setting that holds the text or the path, for messages."""
    data: str | None = None
    """In base64."""
    path: str | None = None
    below: Path | None = None
    """The directory in which the file must be. `read_confined` then limits the file's size too."""

    def read(self) -> bytes:
        """Return the text; raise UnusableTls if it cannot be read or is not PEM."""
        if self.below and not self.data:
            return self._confined_content(self.below)
        content = self._decoded(self.data) if self.data else self._file_content()
        if BEGIN not in content:
            raise UnusableTls(self.field, "holds no PEM" if self.data else f"names {self.path}, which holds no PEM")
        return content

    def _decoded(self, data: str) -> bytes:
        try:
            return b64decode("".join(data.split()), validate=True)
        except ValueError as error:  # binascii.Error is a ValueError
            raise UnusableTls(self.field, f"is not base64: {error}") from error

    def _confined_content(self, directory: Path) -> bytes:
        content = read_confined(directory, self.path or "")
        if content is None or BEGIN not in content:
            limit = f"a regular file of at most {MAX_FILE_BYTES >> 10} KiB below {directory}"
            raise UnusableTls(self.field, f"names no readable PEM file; it must be {limit}")
        return content

    def _file_content(self) -> bytes:
        try:
            return read_limited(self.path or "", MAX_BUNDLE_BYTES)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UnusableTls(self.field, f"names {self.path}, which cannot be read: {reason}") from error


def load_identity(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    """Load a certificate and its key into a context; raise UnusableTls if they cannot be used."""
    certificates, key_text = certificates_in(certificate.read()), key.read()
    try:
        private_key = private_key_in(key_text)
    except ValueError as error:
        raise UnusableTls(key.field, str(error)) from error
    with as_file(certificates) as certificate_path, as_file(private_key) as key_path:
        try:
            context.load_cert_chain(certificate_path, key_path, password=_no_password)
        except OSError as error:  # ssl.SSLError is an OSError
            message = f"holds no usable certificate, or {key.field} is not its key ({reason_of(error)})"
            raise UnusableTls(certificate.field, message) from error


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Yield a path under which `content` can be read within the block; the ssl module reads keys only from files.

    On Linux the file is in memory, because keys must not be written to a disk, and a container may have no writable
    disk.
    """
    if sys.platform == "linux":
        with os.fdopen(os.memfd_create("moorage"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name


def reason_of(error: OSError) -> str:
    """Return OpenSSL's reason in lower case, without error numbers."""
    reason = getattr(error, "reason", None) or str(error).partition(" (_ssl")[0].rpartition("] ")[2]
    return str(reason).replace("_", " ").lower()


def _no_password() -> str:
    """Return a wrong password for an encrypted key. Without a password, OpenSSL would ask on the terminal and wait."""
    return "-"
