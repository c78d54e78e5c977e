"""The transport over aiohttp: for watches, for requests through a proxy, and for the session that kopf uses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import ClientError, ClientRequest, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from multidict import CIMultiDict
from yarl import URL

from moorage.runtime.client.fence import always, check_fence
from moorage.runtime.client.pending_writes import WITHDRAWN, PendingWrites
from moorage.runtime.client.server_access import send_authenticated
from moorage.runtime.client.sockets import CONNECT_SECONDS, IDLE_CONNECTION_SECONDS, keepalive_socket, reset
from moorage.runtime.client.transport import (
    DEFAULT_LIMITS,
    FIRST_REFUSAL,
    HEADERS,
    Answer,
    LongAnswer,
    unreachable,
)

if TYPE_CHECKING:
    from asyncio import WriteTransport
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from ssl import SSLContext

    from aiohttp import ClientHandlerType, ClientResponse
    from aiohttp.connector import Connection

    from moorage.runtime.client.proxy import Proxy
    from moorage.runtime.client.server_access import Access, Presented
    from moorage.runtime.client.transport import AnswerLimits

STREAM_BUFFER_BYTES = 1 << 20
"""Number of unread bytes of a watch that aiohttp keeps. A larger buffer gives larger batches of events."""


def open_session(access: Access, connection_limit: int, may_write: Callable[[], bool] = always) -> ClientSession:
    """Open a session that authenticates every request and uses the proxy of the credentials. The caller closes it.

    Each request uses the current TLS context. `trust_env` is off, because `credentials` hold the environment's proxy.
    """
    credentials = access.credentials
    proxy = credentials.proxy
    return ClientSession(
        connector=TCPConnector(
            limit=connection_limit, keepalive_timeout=IDLE_CONNECTION_SECONDS, socket_factory=keepalive_socket
        ),
        headers=[*HEADERS, *credentials.headers],
        cookie_jar=DummyCookieJar(),
        middlewares=(Authentication(access, may_write),),
        request_class=AuthenticatedRequest,
        proxy=proxy.url if proxy else None,
        trust_env=False,
    )


class SessionTransport:
    """A `Transport` over a session."""

    def __init__(
        self,
        session: ClientSession,
        server: str,
        limits: AnswerLimits = DEFAULT_LIMITS,
        may_write: Callable[[], bool] = always,
    ) -> None:
        """Send to the address `server` through `session`. The caller closes the session."""
        self._session = session
        self._server = server
        self._limits = limits
        self.writes = PendingWrites(may_write)
        """The writes that have no answer yet."""

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        request = self._session.request(
            method,
            self._url(path),
            data=body or None,
            headers={"Content-Type": content_type} if body else None,
            timeout=ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS),
        )
        try:
            return await (self._answer(request) if method == "GET" else self._write(request))
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable(method, path, error) from error

    async def _write(self, request: AbstractAsyncContextManager[ClientResponse]) -> Answer:
        """Send a write; raise ConnectionResetError if leadership ends before its answer."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as pending:
                with self.writes.watching(lambda: pending.reschedule(loop.time())):
                    return await self._answer(request)
        except TimeoutError as error:
            if pending.expired():
                raise ConnectionResetError(WITHDRAWN) from error
            raise

    async def _answer(self, request: AbstractAsyncContextManager[ClientResponse]) -> Answer:
        async with request as response:
            return Answer(response.status, await self._body(response), response.headers.get("Retry-After"))

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET a stream. Yield the bytes of each read, with the status of the answer."""
        try:
            async with self._session.get(
                self._url(path),
                timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=inactivity_seconds),
                read_bufsize=STREAM_BUFFER_BYTES,
            ) as response:
                retry_after = response.headers.get("Retry-After")
                if response.status >= FIRST_REFUSAL:
                    yield Answer(response.status, await self._body(response), retry_after)
                    return
                yield Answer(response.status, b"", retry_after)  # the stream is open, even if no event comes
                async for chunk in response.content.iter_any():
                    yield Answer(response.status, chunk, retry_after)
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable("WATCH", path, error) from error

    async def _body(self, response: ClientResponse) -> bytes:
        """Return the body. If it is too long, return only the beginning of a refusal; raise LongAnswer otherwise."""
        limit = self._limits.most(response.status)
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > limit:
                response.close()
                if response.status < FIRST_REFUSAL:
                    raise LongAnswer(limit)
                break
        return bytes(body)

    def _url(self, path: str) -> URL:
        return URL(f"{self._server}{path}", encoded=True)


class AuthenticatedRequest(ClientRequest):
    """A request whose TLS context can be set. aiohttp takes the context from the caller, but kopf passes none."""

    may_write: Callable[[], bool] = staticmethod(always)
    """Whether a write may be sent. `Authentication` sets it."""
    _sent_over: WriteTransport | None = None

    async def send(self, conn: Connection) -> ClientResponse:
        """Send the request over a connection. Raise NotLeader instead if leadership ended while the connection opened.

        aiohttp calls this method.
        """
        check_fence(self.may_write, self.method, self.url.path)
        self._sent_over = conn.transport
        return await super().send(conn)

    def withdraw(self) -> None:
        """Reset the connection of a write without an answer. aiohttp's `close` would first send the unsent bytes."""
        if self.method != "GET" and self._sent_over is not None:
            reset(self._sent_over)

    def authorize_at(self, proxy: Proxy | None) -> None:
        """Add the proxy's credentials to the request that opens the tunnel; without a tunnel, to this request."""
        if proxy is None or proxy.authorization is None:
            return
        headers = CIMultiDict({"Proxy-Authorization": proxy.authorization})
        if self.is_ssl():
            self.proxy_headers = headers
        else:
            self.headers.update(headers)

    def present(self, presented: Presented) -> None:
        """Use these credentials. aiohttp opens another connection if no idle one has the context."""
        self._sent_over = None
        if presented.header is not None:
            self.headers["Authorization"] = presented.header
        if presented.tls is not None:
            self._ssl: SSLContext | bool = presented.tls


class Authentication:
    """Middleware that sets Authorization, the TLS context, and the name that the server's certificate must contain."""

    def __init__(self, access: Access, may_write: Callable[[], bool] = always) -> None:
        """Take the credentials from `access`. Send a write only if `may_write` returns True right before."""
        self._access = access
        self._may_write = may_write

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send the request. If the credentials are refused, renew them and send the request once more."""
        refused: ClientResponse | None = None
        credentials = self._access.credentials
        request.server_hostname = credentials.tls_server_name
        assert isinstance(request, AuthenticatedRequest)  # `open_session` sets the class
        request.may_write = self._may_write

        async def send(presented: Presented) -> ClientResponse:
            nonlocal refused
            if refused is not None:
                refused.release()
            check_fence(self._may_write, request.method, request.url.path)
            request.authorize_at(credentials.proxy)
            request.present(presented)
            try:
                refused = await handler(request)
            except BaseException:
                request.withdraw()
                raise
            return refused

        return await send_authenticated(self._access, send)
