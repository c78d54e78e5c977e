"""The transport of a busy scheduler: single requests use a pool of fast connections, watches use an aiohttp session."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from moorage.runtime.client.connection_pool import ConnectionPool
from moorage.runtime.client.fence import always
from moorage.runtime.client.server_access import send_authenticated
from moorage.runtime.client.session_transport import SessionTransport, open_session
from moorage.runtime.client.transport import DEFAULT_LIMITS, HEADERS, unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from moorage.runtime.client.server_access import Access, Presented, ServerAccess
    from moorage.runtime.client.transport import Answer, AnswerLimits, Transport


@asynccontextmanager
async def open_transport(
    access: ServerAccess,
    connection_limit: int,
    may_write: Callable[[], bool] = always,
    limits: AnswerLimits = DEFAULT_LIMITS,
) -> AsyncIterator[Transport]:
    """Open a transport to an API server. It sends a write only if `may_write` returns True.

    If there is a proxy, single requests use the session too.
    """
    credentials = access.credentials
    async with open_session(access, connection_limit, may_write=may_write) as session:
        over_session = SessionTransport(session, credentials.server, limits, may_write)
        if credentials.proxy:
            try:
                yield over_session
            finally:
                over_session.writes.close()
            return
        headers = (*HEADERS, *credentials.headers)
        pool = ConnectionPool(credentials.server, headers, access.tls, credentials.tls_server_name, may_write)
        pool.limits = limits
        try:
            yield PooledTransport(pool, over_session, access)
        finally:
            await pool.close()


class PooledTransport:
    """A `Transport` that sends single requests over `pool` and watches over `streams`."""

    def __init__(self, pool: ConnectionPool, streams: Transport, access: Access) -> None:
        """Authenticate single requests with `access`. The transport `streams` authenticates its own requests."""
        self._pool = pool
        self._streams = streams
        self._access = access

    async def exchange(self, method: str, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Answer:
        """Send a request and read the whole answer."""
        content = f"Content-Type: {content_type}\r\n" if body else ""

        async def send(presented: Presented) -> Answer:
            lines = f"Authorization: {presented.header}\r\n{content}" if presented.header else content
            return await self._pool.exchange(method, path, lines, body, timeout_seconds)

        try:
            return await send_authenticated(self._access, send)
        except (OSError, TimeoutError) as error:
            raise unreachable(method, path, error) from error

    def stream(self, path: str, inactivity_seconds: float) -> AsyncGenerator[Answer, None]:
        """GET a stream. Yield the bytes of each read, with the status of the answer."""
        return self._streams.stream(path, inactivity_seconds)
