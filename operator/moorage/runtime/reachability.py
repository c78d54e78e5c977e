"""Whether the API server answers at all: said once for the whole process, not by everybody who asks it something.

    answering --no answer, three times in a row--> silent (a warning) --any answer--> answering

One connection that is reset while others answer is no outage; whoever it was of tries again.

Who gets ApiUnreachable need not say it again (`level_of`).
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from moorage.errors import ApiError, ApiUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from moorage.runtime.kube import Answer, Transport

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3


def level_of(error: ApiError | ApiUnreachable) -> int:
    """Return the level at which a failed request is told of: that nobody answers is in the log already."""
    return logging.DEBUG if isinstance(error, ApiUnreachable) else logging.WARNING


class Reachability:
    """Tells the log when the API server stops answering, and when it answers again."""

    def __init__(self, server: str) -> None:
        """Name the server by its address."""
        self._server = server
        self._failures = 0

    def lost(self, error: ApiUnreachable) -> None:
        """Note that a request got no answer."""
        self._failures += 1
        if self._failures == FAILURES_IN_A_ROW:
            logger.warning("The API server %s does not answer; trying again, for ever: %s", self._server, error)

    def answered(self) -> None:
        """Note that one got an answer, be it a refusal."""
        if self._failures >= FAILURES_IN_A_ROW:
            logger.info("The API server %s answers again", self._server)
        self._failures = 0


class TellingTransport:
    """A transport that notes what becomes of each request."""

    def __init__(self, transport: Transport, reachability: Reachability) -> None:
        """Send through `transport`."""
        self._transport = transport
        self._reachability = reachability

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        try:
            answer = await self._transport.exchange(method, path, body, content_type, timeout_seconds)
        except ApiUnreachable as error:
            self._reachability.lost(error)
            raise
        self._reachability.answered()
        return answer

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET something that has no end, a read at a time. A stream that breaks off was an answer until then."""
        is_open = False
        async with aclosing(self._transport.stream(path, inactivity_seconds)) as reads:
            try:
                async for read in reads:
                    if not is_open:
                        is_open = True
                        self._reachability.answered()
                    yield read
            except ApiUnreachable as error:
                if not is_open:
                    self._reachability.lost(error)
                raise
