"""The REST client: sends and returns bytes, and raises the exceptions of `moorage.errors` for refusals.

Callers decode the bytes; the paths come from `moorage.runtime.api_resources`. The client repeats a request only after
429 with Retry-After, because the API server did not carry out that request. Only the caller knows whether it may repeat
a write without an answer. Writes raise NotLeader if this replica is not sure that it holds the lease.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from moorage.errors import AnswerTooLong, ApiUnreachable, TooManyRequests
from moorage.runtime.client.fence import always, check_fence
from moorage.runtime.client.refusals import refusal
from moorage.runtime.client.transport import FIRST_REFUSAL
from moorage.runtime.client.watch_lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from moorage.runtime.client.rate_limiter import RateLimiter
    from moorage.runtime.client.transport import Transport
    from moorage.runtime.clock import Clock
    from moorage.runtime.metrics.client_metrics import ClientMetrics

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

REQUEST_SECONDS = 30.0
LIST_SECONDS = 120.0
"""The timeout of a list request. A busy API server needs a long time to send a page of large objects."""
THROTTLED_TRIES = 10
"""Number of attempts for a request that is answered with 429; client-go's limit."""
DEFAULT_RETRY_AFTER_SECONDS = 1.0


def _ignore() -> None:
    """Do nothing."""


class KubeClient:
    """A client of one API server, for any number of tasks of one event loop."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        limiter: RateLimiter,
        metrics: ClientMetrics,
        may_write: Callable[[], bool] = always,
    ) -> None:
        """`limiter` delays writes. `may_write` is called right before each write and returns whether to send it."""
        self._transport = transport
        self._clock = clock
        self._limiter = limiter
        self._metrics = metrics
        self._may_write = may_write

    async def get(self, path: str, *, timeout_seconds: float = REQUEST_SECONDS) -> bytes:
        """Read one object."""
        return await self._request("GET", path, timeout_seconds=timeout_seconds)

    async def list_page(self, path: str, query: Mapping[str, str]) -> bytes:
        """Read one page of a list."""
        return await self._request("GET", f"{path}?{urlencode(query)}", timeout_seconds=LIST_SECONDS)

    async def create(self, path: str, body: bytes, *, timeout_seconds: float = REQUEST_SECONDS) -> bytes:
        """POST an object to a collection or a subresource."""
        return await self._write("POST", path, body, timeout_seconds=timeout_seconds)

    async def replace(self, path: str, body: bytes, *, timeout_seconds: float = REQUEST_SECONDS) -> bytes:
        """PUT an object, which replaces the existing object."""
        return await self._write("PUT", path, body, timeout_seconds=timeout_seconds)

    async def patch(self, path: str, body: bytes, content_type: str) -> bytes:
        """PATCH an object; `content_type` names the kind of patch."""
        return await self._write("PATCH", path, body, content_type=content_type)

    async def apply(self, path: str, body: bytes, field_manager: str) -> bytes:
        """Apply an object by server-side apply, and take over the fields that other managers own."""
        query = urlencode({"fieldManager": field_manager, "force": "true"})
        return await self._write("PATCH", f"{path}?{query}", body, content_type=APPLY_PATCH)

    async def delete(self, path: str, body: bytes = b"") -> bytes:
        """DELETE an object; `body` holds DeleteOptions."""
        return await self._write("DELETE", path, body)

    async def watch(
        self, path: str, query: Mapping[str, str], inactivity_seconds: float, opened: Callable[[], None] = _ignore
    ) -> AsyncGenerator[list[bytes]]:
        """Watch a collection and yield the lines of each read, until the API server ends the watch.

        Call `opened` when the API server has accepted the watch.
        Raise ApiUnreachable if nothing arrives for `inactivity_seconds` or the stream breaks. Raise AnswerTooLong if a
        line is too long.
        """
        started, is_open = self._clock.monotonic(), False
        splitter = LineSplitter()
        reads = self._transport.stream(f"{path}?{urlencode(query)}", inactivity_seconds)
        async with aclosing(reads):
            async for read in reads:
                was_open, is_open = is_open, True
                if not was_open:
                    self._observe("WATCH", read.status, started)
                if read.status >= FIRST_REFUSAL:
                    raise refusal(*read)
                if not was_open:
                    opened()
                try:
                    lines = splitter.feed(read.body)
                except ValueError as error:
                    raise AnswerTooLong(f"WATCH {path}: {error}") from error
                if lines:
                    yield lines

    async def _write(
        self,
        method: str,
        path: str,
        body: bytes,
        *,
        content_type: str = JSON,
        timeout_seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        waited = await self._limiter.acquire()
        if self._limiter.is_on:
            self._metrics.observe_throttling(method, waited)
        return await self._request(method, path, body, content_type=content_type, timeout_seconds=timeout_seconds)

    async def _request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_seconds: float,
    ) -> bytes:
        for _ in range(THROTTLED_TRIES - 1):
            try:
                return await self._send(method, path, body, content_type, timeout_seconds)
            except TooManyRequests as error:
                if error.retry_after_seconds is None:
                    raise
                await self._clock.sleep(error.retry_after_seconds or DEFAULT_RETRY_AFTER_SECONDS)
        return await self._send(method, path, body, content_type, timeout_seconds)

    async def _send(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> bytes:
        check_fence(self._may_write, method, path)
        started = self._clock.monotonic()
        try:
            answer = await self._transport.exchange(method, path, body, content_type, timeout_seconds)
        except ApiUnreachable:
            self._observe(method, None, started)
            raise
        self._observe(method, answer.status, started)
        if answer.status >= FIRST_REFUSAL:
            raise refusal(*answer)
        return answer.body

    def _observe(self, verb: str, status: int | None, started: float) -> None:
        self._metrics.observe_request(verb, status, self._clock.monotonic() - started)
