"""TLS towards the API server: contexts from files that may change under a running process."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from moorage.runtime.client.credentials import TlsFiles
    from moorage.runtime.clock import Clock

RELOAD_SECONDS = 60.0
"""How often the files behind a context are looked at."""


class TlsContexts:
    """The TLS context for the API server, built anew when one of its files changes (authorities rotate)."""

    def __init__(self, files: TlsFiles, clock: Clock, *, strict: bool) -> None:
        """Build contexts from `files`.

        `strict` keeps Python 3.13's VERIFY_X509_STRICT, which the authorities of EKS, GKE and microk8s do not pass.
        """
        self._files = files
        self._clock = clock
        self._strict = strict
        self._stamps = self._modified()
        self._checked_at = clock.monotonic()
        self._context = tls_context(files, strict=strict)

    def current(self) -> ssl.SSLContext:
        """Return the context for a connection that is opened now."""
        now = self._clock.monotonic()
        if now - self._checked_at >= RELOAD_SECONDS:
            self._checked_at = now
            stamps = self._modified()
            if stamps != self._stamps:
                self._stamps, self._context = stamps, tls_context(self._files, strict=self._strict)
        return self._context

    def _modified(self) -> tuple[float, ...]:
        paths = (self._files.ca_file, self._files.cert_file, self._files.key_file)
        return tuple(Path(path).stat().st_mtime if path and Path(path).exists() else 0.0 for path in paths)


def tls_context(files: TlsFiles, *, strict: bool) -> ssl.SSLContext:
    """Build a client's TLS context; raises CredentialsError that names the file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=files.ca_file)
    except OSError as error:  # ssl.SSLError is one
        source = files.ca_source or files.ca_file
        raise CredentialsError(f"the certificate authority {source} cannot be used: {error}") from error
    if not strict:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not files.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if files.cert_file:
        try:
            context.load_cert_chain(files.cert_file, files.key_file, password=no_password)
        except OSError as error:
            source = files.cert_source or files.cert_file
            raise CredentialsError(f"the client certificate {source} cannot be used: {error}") from error
    return context


def no_password() -> str:
    """Answer for an encrypted key: without an answer OpenSSL would ask on the terminal, and wait."""
    return "-"
