"""Calls one extender over HTTP, within its time and past its circuit breaker.

A call has one good end, a 200 whose body can be read. Every other is an ExtenderError that names the address and what
is wrong, and a mark against the extender. An extender that says in its protocol's words that it has failed has answered
all the same; that is the caller's to judge.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientOSError,
    ClientPayloadError,
    ClientTimeout,
    ServerDisconnectedError,
)
from yarl import URL

from moorage.errors import ExtenderError, Fault
from moorage.runtime.extenders.deadline import within
from moorage.runtime.extenders.extender_tls import extender_tls
from moorage.runtime.tls.pem import UnusableTls

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import ClientResponse

    from moorage.api.extender import Extender
    from moorage.runtime.extenders.circuit_breaker import CircuitBreaker
    from moorage.runtime.extenders.extender_context import ExtenderContext

logger = logging.getLogger(__name__)
T = TypeVar("T")

NO_LIMIT = ClientTimeout()
"""Times are kept by `within`, on the injected clock."""
CHUNK_BYTES = 1 << 16
SPARE_ANSWER_BYTES = 16 << 20
"""How much longer than twice the question an answer may be: reasons for some ten thousand nodes."""
SHOWN_CHARACTERS = 200
"""How much of an answer that is no answer is shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """A call: `verb` is the protocol's, `path` what the extender calls it."""

    verb: str
    path: str
    body: bytes
    until: float = float("inf")
    """When the caller stops waiting, on the monotonic clock."""
    repeatable: bool = True
    """Whether it may be sent again over a new connection when an idle one turns out to be closed."""


class _Faulty(Exception):  # noqa: N818 - becomes an ExtenderError at once
    """What came back is no answer."""


class ExtenderConnection:
    """The way to one extender."""

    def __init__(
        self, configuration: Extender, ports: ExtenderContext, breaker: CircuitBreaker, most_seconds: float
    ) -> None:
        """Wait for answers as long as the extender's httpTimeout, and never longer than `most_seconds`."""
        self._prefix = configuration.url_prefix.rstrip("/")
        self._timeout_seconds = min(configuration.http_timeout_seconds, most_seconds)
        self._session = ports.session
        self._clock = ports.clock
        self._observer = ports.observer
        self._breaker = breaker
        self.name = without_user(configuration.url_prefix)
        """The urlPrefix as it may be shown."""
        tls = configuration.tls_config
        self._tls = extender_tls(tls, self.name, ports.clock) if tls else None
        self._server_name = tls.server_name if tls else None

    def error(self, path: str, message: str) -> ExtenderError:
        """Make the error for a call."""
        return ExtenderError(f"{self.name}/{path}", message)

    async def call(self, question: Question, read: Callable[[bytes], T]) -> T:
        """Ask, and return what `read` makes of the answer; its ValueErrors say what is wrong with it.

        Raises ExtenderError.
        """
        started = self._clock.monotonic()
        self._admit(question, started)
        try:
            answer = read(await within(self._seconds_for(question, started), self._clock, self._ask(question)))
        except TimeoutError as error:
            raise self._late(question, started) from error
        except (_Faulty, ValueError, UnusableTls, ClientError, OSError) as error:
            raise self._failed(question, "error", _words(error), started) from error
        except BaseException:
            self._breaker.abandoned()
            raise
        self._succeeded(question, started)
        return answer

    def _admit(self, question: Question, now: float) -> None:
        if now >= question.until:
            raise self.error(question.path, "it was not asked, as other extenders took all of the cycle's time")
        if not self._breaker.admits():
            self._observe(question, "refused", now)
            raise self.error(
                question.path, f"it is not called for a while, as it failed again and again: {self._breaker.error}"
            )

    def _seconds_for(self, question: Question, now: float) -> float:
        return min(self._timeout_seconds, question.until - now)

    async def _ask(self, question: Question) -> bytes:
        try:
            return await self._post(question)
        except (ServerDisconnectedError, ClientOSError) as error:
            # Most likely an idle connection that the extender had just closed, which Go's client repeats as well.
            if not question.repeatable or isinstance(error, ClientConnectorError):
                raise
            return await self._post(question)

    async def _post(self, question: Question) -> bytes:
        async with self._session.post(
            URL(f"{self._prefix}/{question.path}"),
            data=BytesIO(question.body),  # sent piece by piece: whole nodes may be many megabytes
            ssl=self._tls.current() if self._tls else True,
            server_hostname=self._server_name,
            allow_redirects=False,
            timeout=NO_LIMIT,
        ) as response:
            answer = await _read_all(response, 2 * len(question.body) + SPARE_ANSWER_BYTES)
            if response.status != HTTPStatus.OK:
                shown = answer[:SHOWN_CHARACTERS].decode("utf-8", "replace").strip()
                raise _Faulty(f"it answered {response.status} where only 200 counts" + (f": {shown}" if shown else ""))
            return answer

    def _succeeded(self, question: Question, started: float) -> None:
        if self._breaker.error:
            logger.info("Extender %s answers again", self.name)
        self._breaker.succeeded()
        self._observe(question, "success", started)

    def _failed(self, question: Question, result: str, message: str, started: float) -> ExtenderError:
        if not self._breaker.error:
            logger.warning("Extender %s failed at %s: %s", self.name, question.verb, message)
        self._breaker.failed(message)
        self._observe(question, result, started)
        return self.error(question.path, message)

    def _late(self, question: Question, started: float) -> ExtenderError:
        if question.until - started >= self._timeout_seconds:
            return self._failed(question, "timeout", f"it gave no answer within {self._timeout_seconds:g} s", started)
        self._breaker.abandoned()  # it did not have all the time that it was promised
        self._observe(question, "timeout", started)
        return self.error(question.path, "it gave no answer in what other extenders left of the cycle's time")

    def _observe(self, question: Question, result: str, started: float) -> None:
        self._observer.observe_extender_call(self.name, question.verb, result, self._clock.monotonic() - started)


def _words(error: Exception) -> str:
    if isinstance(error, ClientPayloadError):
        return "its answer broke off"
    if isinstance(error, ServerDisconnectedError):
        return "it hung up without an answer"
    return str(error) or type(error).__name__


async def _read_all(response: ClientResponse, most_bytes: int) -> bytes:
    read = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        read += chunk
        if len(read) > most_bytes:
            response.close()
            raise _Faulty(f"its answer is longer than {most_bytes} bytes")
    return bytes(read)


def without_user(url: str) -> str:
    """Return a URL as it may be shown, without user and password."""
    return str(URL(url.rstrip("/")).with_user(None)).rstrip("/")


def check_url(extender: Extender) -> list[Fault]:
    """Return why an extender's address cannot be used, though it looks like one."""
    try:
        URL(extender.url_prefix)
    except ValueError as error:
        return [Fault(("urlPrefix",), None, f"is no address that can be called: {error}")]
    return []
