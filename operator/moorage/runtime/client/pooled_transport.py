"""The transport of a scheduler under load: exchanges over a lean pool, streams over a session.

Authentication is that of `moorage.runtime.client.transport.Authentication`: a token that the API server does not take
is renewed, and the request sent once more.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from moorage.runtime.client.connection_pool import ConnectionPool
from moorage.runtime.client.transport import HEADERS, UNAUTHORIZED, HttpTransport, open_session, unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from moorage.runtime.client.client_tls import TlsContexts
    from moorage.runtime.client.credentials import Credentials, Tokens
    from moorage.runtime.client.kube import Answer, Transport


@asynccontextmanager
async def open_transport(
    credentials: Credentials, connection_limit: int, tls: TlsContexts | None = None
) -> AsyncIterator[Transport]:
    """Open the way to an API server. Through a proxy everything goes over the session, which knows how."""
    async with open_session(credentials.tokens, connection_limit) as session:
        over_session = HttpTransport(session, credentials, tls)
        if credentials.proxy:
            yield over_session
            return
        pool = ConnectionPool(credentials.server, HEADERS, tls.current if tls else None, credentials.tls_server_name)
        try:
            yield PooledTransport(pool, over_session, credentials.tokens)
        finally:
            await pool.close()


class PooledTransport:
    """Exchanges over `pool`, streams over `streams`."""

    def __init__(self, pool: ConnectionPool, streams: Transport, tokens: Tokens) -> None:
        """Authenticate with `tokens`; `streams` does so by itself."""
        self._pool = pool
        self._streams = streams
        self._tokens = tokens

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        described = f"Content-Type: {content_type}\r\n" if body else ""
        token = await self._tokens.current()
        try:
            answer = await self._pool.exchange(method, path, _lines(token, described), body, timeout_seconds)
            if answer.status == UNAUTHORIZED:
                renewed = await self._tokens.renew()
                if renewed is not None and renewed != token:
                    return await self._pool.exchange(method, path, _lines(renewed, described), body, timeout_seconds)
        except (OSError, TimeoutError) as error:
            raise unreachable(method, path, error) from error
        return answer

    def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET something that has no end."""
        return self._streams.stream(path, inactivity_seconds)


def _lines(token: str | None, described: str) -> str:
    return f"Authorization: {token}\r\n{described}" if token else described
