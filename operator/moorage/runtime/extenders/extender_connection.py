"""Calls one extender over HTTP, with a timeout and a circuit breaker.

A call succeeds if the answer has the status 200 and a valid body. Redirects are not followed. The caller handles a
valid body whose `Error` field is set. Every other result raises an ExtenderError with the address and the reason. It
also counts as a failure of the extender. There is one exception: if other extenders used up the time or the bytes, no
failure is counted.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

from aiohttp import ClientConnectorError, ClientError, ClientOSError, ClientTimeout, ServerDisconnectedError
from yarl import URL

from moorage.api.policy_extender import PolicyExtender
from moorage.errors import ExtenderError, Fault, UnusableTls
from moorage.runtime.extenders.answer_budget import BudgetSpent
from moorage.runtime.extenders.call_failures import InvalidAnswer, describe, kind_of
from moorage.runtime.extenders.deadline import run_within
from moorage.runtime.extenders.extender_tls import extender_tls

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import ClientResponse

    from moorage.api.extender import Extender
    from moorage.runtime.extenders.answer_budget import BudgetPart
    from moorage.runtime.extenders.circuit_breaker import CircuitBreaker
    from moorage.runtime.extenders.extender_context import ExtenderContext

logger = logging.getLogger(__name__)
T = TypeVar("T")

NO_TIMEOUT = ClientTimeout()
"""aiohttp sets no timeout, because `run_within` limits the time with the injected clock."""
CHUNK_BYTES = 1 << 16
SPARE_ANSWER_BYTES = 4 << 20
"""An answer may have twice the bytes of the request, and this many more: enough for 10,000 reasons of 400
characters."""
REFUSAL_BYTES = 1 << 16
"""Number of bytes that are read of an answer whose status is not 200."""
SHORT_ANSWER_BYTES = 1 << 18
"""Answers up to this length (about a thousand nodes) are decoded in the event loop, longer answers in a thread."""
SHOWN_CHARACTERS = 200
"""Number of characters of an invalid answer that an error shows."""


@dataclass(frozen=True, slots=True)
class ExtenderRequest:
    """A call of an extender."""

    verb: str
    """The name of the verb in the protocol: filter, prioritize, bind or preempt."""
    path: str
    """The extender's path for the verb."""
    body: bytes
    until: float = float("inf")
    """The time at which the caller stops waiting, on the monotonic clock."""
    repeatable: bool = True
    """Whether the call may be sent again if the extender closed the idle connection at the same moment."""
    decodes_in_loop: bool = False
    """Whether the answer is always decoded in the event loop. This is needed if decoding reads the engine's state."""


class ExtenderConnection:
    """A client of one extender."""

    def __init__(
        self, configuration: Extender, context: ExtenderContext, breaker: CircuitBreaker, max_seconds: float
    ) -> None:
        """Wait for an answer as long as the extender's httpTimeout, but at most `max_seconds`."""
        self._prefix = configuration.url_prefix.rstrip("/")
        self._timeout_seconds = min(configuration.http_timeout_seconds, max_seconds)
        self._session = context.session
        self._clock = context.clock
        self._metrics = context.metrics
        self._long_answers = context.long_answers
        self._answers = context.answers
        self._breaker = breaker
        self.name = without_user(configuration.url_prefix)
        """The urlPrefix without user and password, for messages."""
        tls = configuration.tls_config
        self._tls = extender_tls(tls, self.name, context) if tls else None
        self._server_name = tls.server_name if tls else None
        self._shows_answers = not isinstance(configuration, PolicyExtender)

    def error(self, path: str, message: str) -> ExtenderError:
        """Return an ExtenderError with the call's address."""
        return ExtenderError(f"{self.name}/{path}", message)

    def refusal(self, path: str, message: str) -> ExtenderError:
        """Return an ExtenderError for an answer whose `Error` field is `message`."""
        if self._shows_answers:
            return self.error(path, f"answered with an error: {message}")
        logger.debug("Extender %s/%s answered with an error: %s", self.name, path, message[:SHOWN_CHARACTERS])
        return self.error(path, "answered with an error; the operator's log has it at level debug")

    async def call(self, request: ExtenderRequest, read: Callable[[bytes], T]) -> T:
        """Send the request and return the answer as `read` decodes it.

        `read` raises ValueError for an invalid answer. This method raises ExtenderError if the call fails.
        """
        started = self._clock.monotonic()
        self._check_admitted(request, started)
        try:
            seconds = min(self._timeout_seconds, request.until - started)
            with self._answers.part() as part:
                body = await run_within(seconds, self._clock, self._send(request, part))
                answer = await self._decode(request, body, read)
        except TimeoutError as error:
            raise self._record_timeout(request, started) from error
        except BudgetSpent as error:  # not a failure of this extender
            self._breaker.abandoned()
            self._observe(request, "refused", started)
            raise self.error(request.path, str(error)) from error
        except (InvalidAnswer, ValueError, UnusableTls, ClientError, OSError) as error:
            raise self._record_error(request, error, started) from error
        except BaseException:
            self._breaker.abandoned()
            raise
        self._record_success(request, started)
        return answer

    def _check_admitted(self, request: ExtenderRequest, now: float) -> None:
        if now >= request.until:
            raise self.error(request.path, "not called: the other extenders used up the time of the cycle")
        if not self._breaker.admits():
            self._observe(request, "refused", now)
            raise self.error(request.path, f"not called for now, because the last calls failed: {self._breaker.error}")

    async def _decode(self, request: ExtenderRequest, body: bytes, read: Callable[[bytes], T]) -> T:
        """Decode an answer. A long answer is decoded in a thread, so that the scheduling of other pods continues."""
        if request.decodes_in_loop or len(body) <= SHORT_ANSWER_BYTES:
            return read(body)
        async with self._long_answers:
            return await asyncio.to_thread(read, body)

    async def _send(self, request: ExtenderRequest, part: BudgetPart) -> bytes:
        try:
            return await self._post(request, part)
        except (ServerDisconnectedError, ClientOSError) as error:
            # The usual cause is an idle connection that the extender closed at the same moment. Go's client repeats the
            # request too.
            if not request.repeatable or isinstance(error, ClientConnectorError):
                raise
            return await self._post(request, part)

    async def _post(self, request: ExtenderRequest, part: BudgetPart) -> bytes:
        async with self._session.post(
            URL(f"{self._prefix}/{request.path}"),
            data=BytesIO(request.body),  # aiohttp sends a file in pieces; the body may have many megabytes
            ssl=await self._tls.current() if self._tls else True,
            server_hostname=self._server_name,
            allow_redirects=False,
            timeout=NO_TIMEOUT,
        ) as response:
            if response.status != HTTPStatus.OK:
                refusal, _ = await _read(response, REFUSAL_BYTES, part)
                shown = refusal[:SHOWN_CHARACTERS].decode("utf-8", "replace").strip()
                raise InvalidAnswer(f"answered with status {response.status} instead of 200", shown)
            limit = 2 * len(request.body) + SPARE_ANSWER_BYTES
            answer, is_whole = await _read(response, limit, part)
            if not is_whole:
                raise InvalidAnswer(f"the answer is longer than {limit} bytes")
            return answer

    def _record_success(self, request: ExtenderRequest, started: float) -> None:
        if self._breaker.error:
            logger.info("Extender %s answers again", self.name)
        self._breaker.succeeded()
        self._observe(request, "success", started)

    def _record_error(self, request: ExtenderRequest, error: Exception, started: float) -> ExtenderError:
        self._log_first_failure(request, describe(error))
        return self._record_failure(
            request, "error", describe(error) if self._shows_answers else kind_of(error), started
        )

    def _log_first_failure(self, request: ExtenderRequest, message: str) -> None:
        if not self._breaker.error:
            logger.warning(
                "Extender %s failed at %s; the next pod calls it again: %s", self.name, request.verb, message
            )

    def _record_failure(self, request: ExtenderRequest, result: str, message: str, started: float) -> ExtenderError:
        self._breaker.failed(message)
        self._observe(request, result, started)
        return self.error(request.path, message)

    def _record_timeout(self, request: ExtenderRequest, started: float) -> ExtenderError:
        if request.until - started >= self._timeout_seconds:
            message = f"no answer within {self._timeout_seconds:g} s"
            self._log_first_failure(request, message)
            return self._record_failure(request, "timeout", message, started)
        self._breaker.abandoned()  # not a failure of this extender: it had less time than its timeout
        self._observe(request, "timeout", started)
        return self.error(request.path, "no answer in the time that the other extenders left of the cycle")

    def _observe(self, request: ExtenderRequest, result: str, started: float) -> None:
        self._metrics.observe_extender_call(self.name, request.verb, result, self._clock.monotonic() - started)


async def _read(response: ClientResponse, limit: int, part: BudgetPart) -> tuple[bytes, bool]:
    """Return at most about `limit` bytes of the body, and whether it is complete. If not, close the connection.

    Take the body's bytes from the budget; raise BudgetSpent if too few are left.
    """
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        part.take(len(chunk))
        body += chunk
        if len(body) > limit:
            response.close()
            return bytes(body), False
    return bytes(body), True


def without_user(url: str) -> str:
    """Return a URL without user and password, for messages."""
    return str(URL(url.rstrip("/")).with_user(None)).rstrip("/")


def check_url(extender: Extender) -> list[Fault]:
    """Return a fault if the extender's address is not a URL. The API's pattern also accepts some other texts."""
    try:
        URL(extender.url_prefix)
    except ValueError as error:
        return [Fault(("urlPrefix",), None, f"is not a valid address: {error}")]
    return []
