"""The transport over aiohttp: for watches, for requests through a proxy, and for the session that kopf uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from yarl import URL

from moorage.runtime.client.authentication import send_authenticated
from moorage.runtime.client.fence import always, check_fence
from moorage.runtime.client.refusals import FIRST_REFUSAL
from moorage.runtime.client.sockets import CONNECT_SECONDS, IDLE_CONNECTION_SECONDS, keepalive_socket
from moorage.runtime.client.transport import HEADERS, Answer, unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from ssl import SSLContext

    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

    from moorage.runtime.client.credentials import Credentials
    from moorage.runtime.tls.tls_contexts import TlsContexts

STREAM_BUFFER_BYTES = 1 << 20
"""Bytes of a watch that may wait to be read; larger reads are larger batches."""


def open_session(
    credentials: Credentials,
    connection_limit: int,
    tls: SSLContext | None = None,
    may_write: Callable[[], bool] = always,
) -> ClientSession:
    """Open a session that authenticates every request and goes through the credentials' proxy. Close it when done.

    `tls` is the context of requests without one of their own. Proxy variables of the environment are ignored.
    """
    return ClientSession(
        connector=TCPConnector(
            limit=connection_limit,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=keepalive_socket,
            ssl=tls or True,
        ),
        headers=[*HEADERS, *credentials.headers],
        cookie_jar=DummyCookieJar(),
        middlewares=(Authentication(credentials, may_write),),
        proxy=credentials.proxy,
        trust_env=False,
    )


class SessionTransport:
    """A `Transport` over a session."""

    def __init__(self, session: ClientSession, server: str, tls: TlsContexts | None = None) -> None:
        """Send through `session`, which its opener closes, to the address `server`; `tls` is None for plain HTTP."""
        self._session = session
        self._server = server
        self._tls = tls

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        try:
            async with self._session.request(
                method,
                self._url(path),
                data=body or None,
                headers={"Content-Type": content_type} if body else None,
                timeout=ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS),
                ssl=self._ssl(),
            ) as response:
                return Answer(response.status, await response.read(), response.headers.get("Retry-After"))
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable(method, path, error) from error

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET a stream and yield its reads, each with the answer's status."""
        try:
            async with self._session.get(
                self._url(path),
                timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=inactivity_seconds),
                ssl=self._ssl(),
                read_bufsize=STREAM_BUFFER_BYTES,
            ) as response:
                retry_after = response.headers.get("Retry-After")
                if response.status >= FIRST_REFUSAL:
                    yield Answer(response.status, await response.read(), retry_after)
                    return
                yield Answer(response.status, b"", retry_after)  # the stream is open, even if nothing happens for long
                async for chunk in response.content.iter_any():
                    yield Answer(response.status, chunk, retry_after)
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable("WATCH", path, error) from error

    def _url(self, path: str) -> URL:
        return URL(f"{self._server}{path}", encoded=True)

    def _ssl(self) -> SSLContext | bool:
        return self._tls.current() if self._tls else True


class Authentication:
    """Middleware that sets Authorization and the name that the server's certificate must carry."""

    def __init__(self, credentials: Credentials, may_write: Callable[[], bool] = always) -> None:
        """Take both from `credentials`. Writes are sent only if `may_write` returns True once there is a token."""
        self._may_write = may_write
        self._tokens = credentials.tokens
        self._tls_server_name = credentials.tls_server_name

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send the request; after a 401 once more with a renewed token."""
        refused: ClientResponse | None = None
        request.server_hostname = self._tls_server_name

        async def send(header: str | None) -> ClientResponse:
            nonlocal refused
            if refused is not None:
                refused.release()
            check_fence(self._may_write, request.method, request.url.path)
            if header is not None:
                request.headers["Authorization"] = header
            refused = await handler(request)
            return refused

        return await send_authenticated(self._tokens, send)
