"""The REST client: bytes in, bytes out, refusals as the exceptions of `moorage.errors`.

What the bytes mean is the caller's business; the paths come from `moorage.runtime.resources`. Nothing is retried here
but a request that the API server turned away unread (429 with Retry-After): whether a lost write may be repeated, only
its caller knows. Writes raise NotLeader once this replica cannot be sure of its lease.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

from aiohttp import ClientError, ClientTimeout

from moorage.errors import ApiUnreachable, NotLeader, TooManyRequests
from moorage.runtime.refusals import refusal
from moorage.runtime.watch_lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from aiohttp import ClientResponse

    from moorage.runtime.clock import Clock
    from moorage.runtime.rate_limiter import RateLimiter
    from moorage.runtime.transport import RequestOptions, Transport

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 30.0
LIST_SECONDS = 120.0
"""A page of large objects from a busy API server takes long to come."""
THROTTLED_TRIES = 10
"""How often a request answered with 429 is sent in all; client-go's limit."""
DEFAULT_RETRY_AFTER_SECONDS = 1.0
WATCH_BUFFER_BYTES = 1 << 20
"""What may wait to be read of a watch; larger reads are larger batches."""
FIRST_REFUSAL = 400


class RequestObserver(Protocol):
    """Is told of every request, for metrics."""

    def observe_request(self, verb: str, code: str, seconds: float) -> None:
        """Count an answer; `code` is the HTTP status or `<error>`."""

    def observe_throttling(self, verb: str, seconds: float) -> None:
        """Count what a write waited for the client's own limit."""


def always() -> bool:
    """Answer for a client that needs no leadership."""
    return True


class KubeClient:
    """A client of one API server. Safe to use from any number of tasks of one event loop."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        limiter: RateLimiter,
        observer: RequestObserver,
        may_write: Callable[[], bool] = always,
    ) -> None:
        """Send through `transport`. All writes pass `limiter`; `may_write` is asked right before each is sent."""
        self._transport = transport
        self._clock = clock
        self._limiter = limiter
        self._observer = observer
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
        """PUT an object in place of the one that is there."""
        return await self._write("PUT", path, body, timeout_seconds=timeout_seconds)

    async def patch(self, path: str, body: bytes, content_type: str) -> bytes:
        """PATCH an object, in the manner that `content_type` names."""
        return await self._write("PATCH", path, body, content_type=content_type)

    async def apply(self, path: str, body: bytes, field_manager: str) -> bytes:
        """Server-side apply; what others own of the fields is taken over."""
        query = urlencode({"fieldManager": field_manager, "force": "true"})
        return await self._write("PATCH", f"{path}?{query}", body, content_type=APPLY_PATCH)

    async def delete(self, path: str, body: bytes = b"") -> bytes:
        """DELETE an object; `body` holds DeleteOptions."""
        return await self._write("DELETE", path, body)

    async def watch(
        self, path: str, query: Mapping[str, str], inactivity_seconds: float
    ) -> AsyncGenerator[list[bytes]]:
        """Watch a collection: yield the lines of each read together. Ends when the API server ends it.

        Raises ApiUnreachable when nothing came for `inactivity_seconds`, or when the stream broke.
        """
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=inactivity_seconds)
        started = self._clock.monotonic()
        splitter = LineSplitter()
        try:
            async with self._transport.request(
                "GET", f"{path}?{urlencode(query)}", timeout=timeout, read_bufsize=WATCH_BUFFER_BYTES
            ) as response:
                self._observe("WATCH", str(response.status), started)
                if response.status >= FIRST_REFUSAL:
                    raise await _refused(response)
                async for chunk in response.content.iter_any():
                    lines = splitter.feed(chunk)
                    if lines:
                        yield lines
        except (ClientError, TimeoutError, OSError) as error:
            raise _unreachable("WATCH", path, error) from error

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
        self._observer.observe_throttling(method, waited)
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
        options: RequestOptions = {"timeout": ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS)}
        if body:
            options |= {"data": body, "headers": {"Content-Type": content_type}}
        if method != "GET" and not self._may_write():
            raise NotLeader(f"{method} {path.partition('?')[0]} was not sent: this replica is not the leader any more")
        started = self._clock.monotonic()
        try:
            async with self._transport.request(method, path, **options) as response:
                self._observe(method, str(response.status), started)
                if response.status >= FIRST_REFUSAL:
                    raise await _refused(response)
                return await response.read()
        except (ClientError, TimeoutError, OSError) as error:
            self._observe(method, "<error>", started)
            raise _unreachable(method, path, error) from error

    def _observe(self, verb: str, code: str, started: float) -> None:
        self._observer.observe_request(verb, code, self._clock.monotonic() - started)


async def _refused(response: ClientResponse) -> Exception:
    return refusal(response.status, await response.read(), response.headers.get("Retry-After"))


def _unreachable(method: str, path: str, error: Exception) -> ApiUnreachable:
    words = "no answer in time" if isinstance(error, (TimeoutError, asyncio.TimeoutError)) else str(error)
    return ApiUnreachable(f"{method} {path.partition('?')[0]}: {words or type(error).__name__}")
