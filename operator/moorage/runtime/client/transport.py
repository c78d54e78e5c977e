"""The way to the API server over aiohttp: connections and authentication, shared by all clients of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from yarl import URL

import moorage
from moorage.errors import ApiUnreachable
from moorage.runtime.client.kube import FIRST_REFUSAL, Answer
from moorage.runtime.client.sockets import CONNECT_SECONDS, IDLE_CONNECTION_SECONDS, keepalive_socket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from ssl import SSLContext

    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

    from moorage.runtime.client.client_tls import TlsContexts
    from moorage.runtime.client.credentials import Credentials, Tokens

HEADERS = {
    "User-Agent": f"moorage/{moorage.__version__}",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
}
"""Of every request. Answers come uncompressed: inside a cluster compression costs both sides more than it saves."""
UNAUTHORIZED = 401
STREAM_BUFFER_BYTES = 1 << 20
"""What may wait to be read of a watch; larger reads are larger batches."""


def open_session(tokens: Tokens, connection_limit: int, tls: SSLContext | None = None) -> ClientSession:
    """Open a session that authenticates every request. Close it when done.

    `tls` is for requests that bring no context of their own, as those through a `Transport` do.

    Proxy variables of the environment are ignored.
    """
    return ClientSession(
        connector=TCPConnector(
            limit=connection_limit,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=keepalive_socket,
            ssl=tls or True,
        ),
        headers=HEADERS,
        cookie_jar=DummyCookieJar(),
        middlewares=(Authentication(tokens),),
        trust_env=False,
    )


class HttpTransport:
    """The `moorage.runtime.client.kube.Transport` over a session: what goes wrong on the way becomes ApiUnreachable."""

    def __init__(self, session: ClientSession, credentials: Credentials, tls: TlsContexts | None = None) -> None:
        """Send through `session`, which its opener closes; `tls` is None for plain HTTP."""
        self._session = session
        self._server = credentials.server
        self._server_hostname = credentials.tls_server_name
        self._proxy = credentials.proxy
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
                server_hostname=self._server_hostname,
                proxy=self._proxy,
            ) as response:
                return Answer(response.status, await response.read(), response.headers.get("Retry-After"))
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable(method, path, error) from error

    async def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET something that has no end, a read at a time; each bears the answer's status."""
        try:
            async with self._session.get(
                self._url(path),
                timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=inactivity_seconds),
                ssl=self._ssl(),
                server_hostname=self._server_hostname,
                proxy=self._proxy,
                read_bufsize=STREAM_BUFFER_BYTES,
            ) as response:
                retry_after = response.headers.get("Retry-After")
                if response.status >= FIRST_REFUSAL:
                    yield Answer(response.status, await response.read(), retry_after)
                    return
                yield Answer(response.status, b"", retry_after)  # it is open, however long nothing happens
                async for chunk in response.content.iter_any():
                    yield Answer(response.status, chunk, retry_after)
        except (ClientError, TimeoutError, OSError) as error:
            raise unreachable("WATCH", path, error) from error

    def _url(self, path: str) -> URL:
        return URL(f"{self._server}{path}", encoded=True)

    def _ssl(self) -> SSLContext | bool:
        return self._tls.current() if self._tls else True


class Authentication:
    """Middleware: sets Authorization on every request and, after a 401, tries once more with a renewed token."""

    def __init__(self, tokens: Tokens) -> None:
        """Take tokens from `tokens`."""
        self._tokens = tokens

    async def __call__(self, request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        """Send the request."""
        header = await self._tokens.current()
        if header is not None:
            request.headers["Authorization"] = header
        response = await send(request)
        if response.status != UNAUTHORIZED:
            return response
        renewed = await self._tokens.renew()
        if renewed is None or renewed == header:
            return response
        response.release()
        request.headers["Authorization"] = renewed
        return await send(request)


def unreachable(method: str, path: str, error: Exception) -> ApiUnreachable:
    """Say in one sentence that no answer came to a request, and why."""
    words = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return ApiUnreachable(f"{method} {path.partition('?')[0]}: {words or type(error).__name__}")
