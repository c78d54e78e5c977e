"""The interface for requests to one API server: bytes out, bytes in.

Every transport raises ApiUnreachable if no answer comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import moorage
from moorage.errors import AnswerTooLong, ApiUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

HEADERS = (
    ("User-Agent", f"moorage/{moorage.__version__}"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
)
"""The headers of every request. Inside a cluster, compressed answers would cost both sides more than they save."""


FIRST_REFUSAL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """Limits on the length of an answer. A proxy may send anything, and users choose the size of their objects."""

    answer_bytes: int = 32 << 20
    """A page of 500 usual objects has 2 to 20 MB. If the objects are larger, a page has fewer objects."""
    refusal_bytes: int = 1 << 18
    """The part of a refusal that is read.

    A Status has less than a kilobyte; one with a list of invalid fields has a few kilobytes.
    """

    def most(self, status: int) -> int:
        """Return the limit for an answer with this status."""
        return self.answer_bytes if status < FIRST_REFUSAL else self.refusal_bytes


DEFAULT_LIMITS = AnswerLimits()


class LongAnswer(OSError):  # noqa: N818 - becomes an AnswerTooLong at once
    """An answer is longer than its limit. A transport turns this error into AnswerTooLong."""

    def __init__(self, limit: int) -> None:
        """Name the limit, in bytes."""
        super().__init__(f"the answer is longer than {limit} bytes")


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
        """GET a stream. Yield the bytes of each read, with the status of the answer. The first read may be empty."""


def unreachable(method: str, path: str, error: Exception) -> ApiUnreachable:
    """Return the error for a request without an answer; its message leaves out the query."""
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    kind = AnswerTooLong if isinstance(error, LongAnswer) else ApiUnreachable
    return kind(f"{method} {path.partition('?')[0]}: {reason or type(error).__name__}")
