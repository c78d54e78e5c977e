"""An API server that records what each request presents, and an HTTP proxy, both on loopback."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

PIECE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """The credentials of one request."""

    path: str
    authorization: str | None
    impersonation: tuple[tuple[str, str], ...]
    user: str | None
    """The subject of the client certificate."""


@dataclass
class RecordingServer:
    """An API server. All accepted requests are answered with `status`."""

    port: int = 0
    seen: list[SeenRequest] = field(default_factory=list)
    server_names: list[str | None] = field(default_factory=list)
    """The server name (SNI) of each TLS handshake."""
    runner: web.AppRunner | None = None
    accepts: Callable[[SeenRequest], bool] = lambda _: True
    """Returns whether a request is accepted; other requests are answered with 401."""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Disconnect all clients and stop listening."""
        if self.runner:
            await self.runner.cleanup()
            self.runner = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert request.transport
        peer: dict[str, Any] = request.transport.get_extra_info("peercert") or {}
        subject = dict(pair for part in peer.get("subject", ()) for pair in part)
        impersonation = tuple(sorted((n, v) for n, v in request.headers.items() if n.startswith("Impersonate-")))
        seen = SeenRequest(
            request.raw_path, request.headers.get("Authorization"), impersonation, subject.get("commonName")
        )
        self.seen.append(seen)
        return web.json_response({"kind": "Status"}, status=200 if self.accepts(seen) else 401)

    def record_name(self, _: ssl.SSLObject | ssl.SSLSocket, name: str | None, __: ssl.SSLContext) -> None:
        """Record the name of a handshake; a callback of `ssl`."""
        self.server_names.append(name)


@asynccontextmanager
async def recording_server(tls: ssl.SSLContext | None, port: int = 0) -> AsyncIterator[RecordingServer]:
    """Serve until the block ends. Clients are disconnected at the end."""
    made = RecordingServer()
    if tls:
        tls.sni_callback = made.record_name
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    made.port, made.runner = runner.addresses[0][1], runner
    try:
        yield made
    finally:
        await made.stop()


@dataclass
class RecordingProxy:
    """A proxy that opens tunnels, each to the port of the target on loopback."""

    port: int = 0
    targets: list[str] = field(default_factory=list)
    users: list[str | None] = field(default_factory=list)
    """User and password of each request."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            target = head.split()[1]
            lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            given = lines.get("Proxy-Authorization")
            self.users.append(b64decode(given.removeprefix("Basic ")).decode() if given else None)
            self.targets.append(target)
            upstream = await asyncio.open_connection("127.0.0.1", int(target.rpartition(":")[2]))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_copy(reader, upstream[1]), _copy(upstream[0], writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def recording_proxy(tls: ssl.SSLContext | None = None) -> AsyncIterator[RecordingProxy]:
    """Run a proxy until the block ends."""
    made = RecordingProxy()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in made.tasks:
            task.cancel()
        await asyncio.gather(*made.tasks, return_exceptions=True)
        await server.wait_closed()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
    finally:
        writer.close()
