"""A pool of kept-alive connections to one API server. A connection is used for one request at a time."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from yarl import URL

from moorage.errors import NotLeader
from moorage.runtime.client.fence import always, check_fence
from moorage.runtime.client.http_connection import HttpConnection
from moorage.runtime.client.pending_writes import PendingWrites
from moorage.runtime.client.sockets import CONNECT_SECONDS, IDLE_CONNECTION_SECONDS, connected_socket
from moorage.runtime.client.transport import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from ssl import SSLContext

    from moorage.runtime.client.transport import Answer

MAX_AGE_SECONDS = 300.0
"""The age at which a connection is replaced, so that a restarted API server gets its share of the load."""
FORBIDDEN_IN_PATHS = re.compile(r"[\s\x00-\x1f\x7f]")
"""Characters that would end the request line."""


def no_tls() -> None:
    """Return None, because plain HTTP has no TLS context."""


class ConnectionPool:
    """Sends requests over connections that it opens, keeps and closes."""

    def __init__(
        self,
        server: str,
        headers: Sequence[tuple[str, str]],
        tls: Callable[[], SSLContext | None] = no_tls,
        server_hostname: str | None = None,
        may_write: Callable[[], bool] = always,
    ) -> None:
        """Connect to `server`, such as `https://10.0.0.1:6443`; send `headers` with each request.

        `tls` returns the current TLS context. After a client certificate is renewed, `tls` returns a new context, and
        the pool stops using connections with the old one. The pool calls `may_write` right before it sends a write, and
        sends the write only if `may_write` returns True.
        """
        url = URL(server)
        self._host, self._port = url.host or "", url.port or 0
        self._prefix = url.raw_path.rstrip("/")
        self._tls = tls
        self._server_hostname = server_hostname or url.host
        self.limits = DEFAULT_LIMITS
        """The maximum lengths of answers."""
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in (("Host", url.raw_authority), *headers))
        self._may_write = may_write
        self._idle: list[HttpConnection] = []
        self.writes = PendingWrites(may_write)
        """The writes that have no answer yet."""

    async def exchange(self, method: str, path: str, headers: str, body: bytes, timeout_seconds: float) -> Answer:
        """Send a request; `headers` are complete lines. Raise ConnectionError or TimeoutError if no answer comes.

        Raise NotLeader instead of sending a write if `may_write` returns False.
        """
        if FORBIDDEN_IN_PATHS.search(path):
            raise ValueError(f"not a path: {path!r}")
        length = f"Content-Length: {len(body)}\r\n" if body or method != "GET" else ""
        head = f"{method} {self._prefix}{path} HTTP/1.1\r\n{self._headers}{headers}{length}\r\n"
        request = head.encode() + body
        connection = await self._acquire()
        was_used = connection.answered > 0
        try:
            if method == "GET":
                answer = await connection.exchange(request, timeout_seconds)
            else:
                check_fence(self._may_write, method, path)
                with self.writes.watching(connection.withdraw):
                    answer = await connection.exchange(request, timeout_seconds)
        except NotLeader:
            self._release(connection)
            raise
        except ConnectionError:
            if method != "GET" or not was_used:
                raise
            # The server may have closed the idle connection a moment ago. A read is safe to repeat.
            connection = await self._open()
            answer = await connection.exchange(request, timeout_seconds)
        self._release(connection)
        return answer

    async def close(self) -> None:
        """Close all idle connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        self.writes.close()
        await asyncio.sleep(0)  # lets asyncio close the sockets

    async def _acquire(self) -> HttpConnection:
        now, tls = asyncio.get_running_loop().time(), self._tls()
        while self._idle:
            connection = self._idle.pop()
            is_fresh = now - connection.idle_since < IDLE_CONNECTION_SECONDS
            if connection.is_reusable and is_fresh and connection.tls is tls:
                return connection
            connection.close()
        return await self._open()

    async def _open(self) -> HttpConnection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            sock = await connected_socket(self._host, self._port)
            tls = self._tls()
            _, connection = await loop.create_connection(
                lambda: HttpConnection(loop, tls, self.limits),
                sock=sock,
                ssl=tls,
                server_hostname=self._server_hostname if tls else None,
            )
        return connection

    def _release(self, connection: HttpConnection) -> None:
        if connection.is_reusable and connection.idle_since - connection.opened_at < MAX_AGE_SECONDS:
            self._idle.append(connection)
        else:
            connection.close()
