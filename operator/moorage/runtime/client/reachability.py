"""Whether the API server answers and knows us: said once for the whole process, not by all who ask it something.

    fine --no answer, or a 401, three times in a row--> at fault (a warning) --any other answer--> fine

One connection that is reset while others answer is no outage; whoever it was of tries again. Nor is a watch in which
nothing happens, though proxies may hold its answer back until something does. Who gets ApiUnreachable or Unauthorized
need not say it again (`level_of`).
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING

from moorage.errors import ApiError, ApiUnreachable, Unauthorized

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from moorage.runtime.client.kube import Answer, Transport

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3


def level_of(error: ApiError | ApiUnreachable) -> int:
    """Return the level at which a failed request is told of; what `Reachability` tells is in the log already."""
    return logging.DEBUG if isinstance(error, (ApiUnreachable, Unauthorized)) else logging.WARNING


class Reachability:
    """Tells the log when the API server stops answering or does not know us, and when that is over."""

    def __init__(self, server: str) -> None:
        """Name the server by its address."""
        self._server = server
        self._failures = 0
        self.answers = 0
        """How many requests were answered so far."""

    def lost(self, error: ApiUnreachable) -> None:
        """Note that a request got no answer."""
        self._failed(f"does not answer; trying again, for ever: {error}")

    def answered(self, status: int) -> None:
        """Note that one got an answer, be it a refusal."""
        self.answers += 1
        if status == HTTPStatus.UNAUTHORIZED:
            self._failed("does not take our credentials (401); renew those of the kubeconfig or the service account")
            return
        if self._failures >= FAILURES_IN_A_ROW:
            logger.info("The API server %s answers again", self._server)
        self._failures = 0

    def _failed(self, what: str) -> None:
        self._failures += 1
        if self._failures == FAILURES_IN_A_ROW:
            logger.warning("The API server %s %s", self._server, what)


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
        self._reachability.answered(answer.status)
        return answer

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET something that has no end, a read at a time. A stream that breaks off was an answer until then."""
        is_open, answers = False, self._reachability.answers
        async with aclosing(self._transport.stream(path, inactivity_seconds)) as reads:
            try:
                async for read in reads:
                    if not is_open:
                        is_open = True
                        self._reachability.answered(read.status)
                    yield read
            except ApiUnreachable as error:
                was_quiet = isinstance(error.__cause__, TimeoutError) and self._reachability.answers > answers
                if not is_open and not was_quiet:
                    self._reachability.lost(error)
                raise
