"""The port to one API server: bytes out, bytes in. Every transport raises ApiUnreachable if no answer comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import moorage
from moorage.errors import ApiUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

HEADERS = (
    ("User-Agent", f"moorage/{moorage.__version__}"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
)
"""Sent with every request. Inside a cluster, compressed answers would cost both sides more than they save."""


class Answer(NamedTuple):
    """An HTTP answer, or one read of a stream."""

    status: int
    body: bytes
    retry_after: str | None = None
    """The header Retry-After, in seconds."""


class Transport(Protocol):
    """Sends requests to one API server. A refusal is an answer, not an error."""

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""

    def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET a stream and yield its reads, each with the answer's status. The first may be empty."""


def unreachable(method: str, path: str, error: Exception) -> ApiUnreachable:
    """Return the error for a request without an answer; its message leaves out the query."""
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return ApiUnreachable(f"{method} {path.partition('?')[0]}: {reason or type(error).__name__}")
