"""Kept-alive connections to one API server, for exchanges; as many as are under way at one time."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from yarl import URL

from moorage.runtime.client.http_connection import Connection
from moorage.runtime.client.sockets import CONNECT_SECONDS, IDLE_CONNECTION_SECONDS, connected_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

    from moorage.runtime.client.kube import Answer

MAX_AGE_SECONDS = 300.0
"""Connections are replaced after this long, so that an API server that was restarted gets its share of the load."""
NO_PATH = re.compile(r"[\s\x00-\x1f\x7f]")
"""What may be in no path: it would end the request line."""


class ConnectionPool:
    """Sends requests over connections that it opens, keeps and closes."""

    def __init__(
        self,
        server: str,
        headers: Mapping[str, str],
        tls: Callable[[], SSLContext] | None = None,
        server_hostname: str | None = None,
    ) -> None:
        """Connect to `server`, such as `https://10.0.0.1:6443`; `headers` go with each request."""
        url = URL(server)
        self._host, self._port = url.host or "", url.port or 0
        self._prefix = url.raw_path.rstrip("/")
        self._tls = tls
        self._server_hostname = server_hostname or url.host
        fields = {"Host": url.raw_authority, **headers}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._idle: list[Connection] = []

    async def exchange(self, method: str, path: str, headers: str, body: bytes, timeout_seconds: float) -> Answer:
        """Send a request; `headers` are whole lines. Raises ConnectionError or TimeoutError where no answer came."""
        if NO_PATH.search(path):
            raise ValueError(f"not a path: {path!r}")
        length = f"Content-Length: {len(body)}\r\n" if body or method != "GET" else ""
        head = f"{method} {self._prefix}{path} HTTP/1.1\r\n{self._headers}{headers}{length}\r\n"
        request = head.encode("latin-1") + body
        connection = await self._acquire()
        was_used = connection.answered > 0
        try:
            answer = await connection.exchange(request, timeout_seconds)
        except ConnectionError:
            if method != "GET" or not was_used:
                raise
            # A kept connection may have been closed by the server meanwhile; a read can be repeated.
            connection = await self._open()
            answer = await connection.exchange(request, timeout_seconds)
        self._release(connection)
        return answer

    async def close(self) -> None:
        """Close all idle connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the transports close

    async def _acquire(self) -> Connection:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable and now - connection.idle_since < IDLE_CONNECTION_SECONDS:
                return connection
            connection.close()
        return await self._open()

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            sock = await connected_socket(self._host, self._port)
            tls = self._tls() if self._tls else None
            _, connection = await loop.create_connection(
                lambda: Connection(loop),
                sock=sock,
                ssl=tls,
                server_hostname=self._server_hostname if tls else None,
            )
        return connection

    def _release(self, connection: Connection) -> None:
        if connection.is_reusable and connection.idle_since - connection.opened_at < MAX_AGE_SECONDS:
            self._idle.append(connection)
        else:
            connection.close()
