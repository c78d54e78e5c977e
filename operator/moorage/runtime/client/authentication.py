"""Authorization headers, and the sources of their tokens."""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from moorage.errors import CredentialsError
from moorage.limited_file import read_limited
from moorage.runtime.fault_log import FaultLog

if TYPE_CHECKING:
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

REREAD_SECONDS = 60.0
"""The age at which a token is read again; client-go reads projected tokens each minute."""
RENEWAL_PAUSE_SECONDS = 1.0
"""The shortest time between two reads after refusals. Many requests that are refused at once need only one read."""
MAX_TOKEN_BYTES = 1 << 16
"""The size limit of a token file. Service account tokens have 1 to 2 kB. Servers refuse headers of more than 8 to 64
kB."""
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
"""Matches visible ASCII characters, with spaces between them. HTTP forbids other characters in a header."""


class Tokens(Protocol):
    """A source of Authorization headers."""

    async def current(self) -> str | None:
        """Return the header's value; None if no header is sent."""

    async def renew(self) -> None:
        """Read the credentials again after the API server has refused them."""


class FileTokens:
    """The bearer token in a file that another process rotates, such as a pod's service account token."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read the token; raise CredentialsError if it cannot be used."""
        self._path = path
        self._clock = clock
        self._faults = FaultLog(logger, f"The token file {path}")
        self._header = read_bearer(path)
        self._read_at = clock.monotonic()

    async def current(self) -> str:
        """Return the header for the token. Read the token again if the last read is REREAD_SECONDS ago."""
        self._read_after(REREAD_SECONDS)
        return self._header

    async def renew(self) -> None:
        """Read the file if the last read is RENEWAL_PAUSE_SECONDS ago. If that fails, keep the last token."""
        self._read_after(RENEWAL_PAUSE_SECONDS)

    def _read_after(self, seconds: float) -> None:
        now = self._clock.monotonic()
        if now - self._read_at < seconds:
            return
        self._read_at = now
        try:
            self._header = read_bearer(self._path)
        except CredentialsError as error:
            self._faults.report(error)
        else:
            self._faults.end()


def read_bearer(path: Path) -> str:
    """Return the header for the token in a file; raise CredentialsError that names the file."""
    try:
        token = read_limited(path, MAX_TOKEN_BYTES).decode("ascii")
    except OSError as error:
        raise CredentialsError(f"the token file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # UnicodeDecodeError is a ValueError
        raise CredentialsError(f"the token file {path} has no valid token: {error}") from error
    return bearer(f"the token file {path}", token)


def basic(user: str, password: str) -> str:
    """Return the header for a user and a password."""
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def bearer(source: str, token: str) -> str:
    """Return the header for a token; raise CredentialsError that names `source` if the token is not valid."""
    token = token.strip()
    if not token:
        raise CredentialsError(f"{source} is empty")
    if not HEADER_VALUE.fullmatch(token):
        raise CredentialsError(f"{source} has characters that an HTTP header cannot contain")
    return f"Bearer {token}"
