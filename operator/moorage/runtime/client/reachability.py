"""Logs outages of the API server once for the whole process, not once for each part that sends requests.

    healthy --no answer, or a 401, three times in a row--> at fault (a warning) --any other answer--> healthy

If one connection is reset while others answer, that is not an outage; the caller tries again. A watch without events is
not an outage either: a proxy may hold back the answer until the first event. Callers log ApiUnreachable, Unauthorized
and missing rights only at DEBUG (`level_of`).
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING

from moorage.errors import AnswerTooLong, ApiError, ApiUnreachable, Unauthorized
from moorage.runtime.client.missing_rights import is_missing_right

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from moorage.runtime.client.missing_rights import MissingRights
    from moorage.runtime.client.transport import Answer, Transport

logger = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3


def level_of(error: ApiError | ApiUnreachable) -> int:
    """Return the level at which a caller logs a failed request: DEBUG if this process logs the failure elsewhere."""
    if isinstance(error, AnswerTooLong):
        return logging.WARNING
    is_logged = isinstance(error, (ApiUnreachable, Unauthorized)) or is_missing_right(error)
    return logging.DEBUG if is_logged else logging.WARNING


class Reachability:
    """Logs when the API server stops answering or rejects the credentials, and when that is over."""

    def __init__(self, server: str) -> None:
        """Name the server by its address."""
        self._server = server
        self._failures = 0
        self._message = ""
        self.answers = 0
        """Number of requests that were answered so far."""

    def fault(self) -> str:
        """Return why the API server cannot be used, for readiness; empty if it can."""
        return self._message if self._failures >= FAILURES_IN_A_ROW else ""

    def record_loss(self, error: ApiUnreachable) -> None:
        """Count a request without an answer."""
        self._record_failure(f"does not answer; retrying until it does: {error}")

    def record_answer(self, status: int) -> None:
        """Count an answer, which may be a refusal."""
        self.answers += 1
        if status == HTTPStatus.UNAUTHORIZED:
            self._record_failure(
                "rejects the credentials (401); renew the credentials of the kubeconfig or the service account"
            )
            return
        if self._failures >= FAILURES_IN_A_ROW:
            logger.info("The API server %s answers again", self._server)
        self._failures = 0

    def _record_failure(self, message: str) -> None:
        self._failures += 1
        self._message = f"the API server {self._server} {message}"
        if self._failures == FAILURES_IN_A_ROW:
            logger.warning("The API server %s %s", self._server, message)


class ObservedTransport:
    """A transport that reports the result of each request to a `Reachability`, and refusals to `MissingRights`."""

    def __init__(self, transport: Transport, reachability: Reachability, rights: MissingRights) -> None:
        """Send through `transport`."""
        self._transport = transport
        self._reachability = reachability
        self._rights = rights

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        try:
            answer = await self._transport.exchange(method, path, body, content_type, timeout_seconds)
        except AnswerTooLong:
            self._reachability.record_answer(HTTPStatus.OK)
            raise
        except ApiUnreachable as error:
            self._reachability.record_loss(error)
            raise
        self._reachability.record_answer(answer.status)
        self._rights.record(method, answer)
        return answer

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET a stream and yield each read. The first read counts as the answer, even if the stream breaks later."""
        is_open, answers = False, self._reachability.answers
        async with aclosing(self._transport.stream(path, inactivity_seconds)) as reads:
            try:
                async for read in reads:
                    if not is_open:
                        is_open = True
                        self._reachability.record_answer(read.status)
                        self._rights.record("GET", read)
                    yield read
            except ApiUnreachable as error:
                was_quiet = isinstance(error.__cause__, TimeoutError) and self._reachability.answers > answers
                if not is_open and not was_quiet:
                    self._reachability.record_loss(error)
                raise
