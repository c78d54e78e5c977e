"""Texts for failed calls of extenders.

For an extender of the configuration file, the text includes the extender's answer. For an extender of a policy, the
text names only the kind of the failure: the policy's author chooses the address, and must not read the answers of other
services.
"""

from __future__ import annotations

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientPayloadError,
    ClientResponseError,
    ClientSSLError,
    ServerDisconnectedError,
)

from moorage.errors import UnusableTls
from moorage.outside_text import one_line

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (ClientPayloadError, "the answer ended too early"),
    (ServerDisconnectedError, "closed the connection without an answer"),
    (ClientConnectorCertificateError, "its certificate cannot be verified"),
    (ClientConnectorDNSError, "its name cannot be resolved"),
    (ClientSSLError, "the TLS handshake failed"),
    (ClientConnectorError, "cannot connect"),
    (ClientResponseError, "the answer is not valid HTTP"),
    (OSError, "the connection failed"),
)
"""The kinds of failures by class. A subclass comes before its base classes."""


class InvalidAnswer(Exception):  # noqa: N818 - becomes an ExtenderError at once
    """The answer breaks the protocol."""

    def __init__(self, message: str, answer: str = "") -> None:
        """`answer` is the beginning of the answer. `message` must not quote it."""
        self.message = message
        super().__init__(f"{message}: {answer}" if answer else message)


def describe(error: Exception) -> str:
    """Return the text for administrators."""
    if isinstance(error, ClientPayloadError | ServerDisconnectedError):
        return kind_of(error)
    return one_line(str(error)) or type(error).__name__


def kind_of(error: Exception) -> str:
    """Return a text that does not quote the answer."""
    if isinstance(error, UnusableTls):
        return str(error)
    if isinstance(error, InvalidAnswer):
        return error.message
    return next((kind for cls, kind in _KINDS if isinstance(error, cls)), "the answer is invalid")
