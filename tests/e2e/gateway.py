"""A proxy in front of a real API server. It can drop requests, so that a test can cut off a replica.

The proxy serves plain HTTP, so that it sees the paths of the requests. It forwards the client's credentials.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from aiohttp import ClientError, ClientSession, TCPConnector, web

from loops import loop_in_thread

CALL_SECONDS = 10.0
SHUTDOWN_SECONDS = 0.1
"""How long open watches may delay a stop. For aiohttp, 0 means that there is no limit."""
CONNECTION_HEADERS = {"host", "connection", "transfer-encoding", "content-length"}
NOTHING = re.compile(r"(?!)")


@dataclass(slots=True)
class Gateway:
    """A proxy that forwards requests. Requests whose path matches `lost` get no answer."""

    server: str
    ca_file: str
    lost: re.Pattern[str] = NOTHING
    held: re.Pattern[str] = NOTHING
    """The pattern of requests whose answers stop in the middle. The proxy searches it in `/path?query`."""
    _session: ClientSession = field(init=False)
    _runner: web.AppRunner = field(init=False)

    def lose(self, pattern: str) -> None:
        """Drop requests whose path matches the pattern."""
        self.lost = re.compile(pattern)

    def hold(self, pattern: str) -> None:
        """Stop answers to requests whose path with the query matches the pattern. This includes unfinished answers."""
        self.held = re.compile(pattern)

    def heal(self) -> None:
        """Drop no more requests, and stop no more answers."""
        self.lost = self.held = NOTHING

    async def start(self, tls: ssl.SSLContext | None = None, port: int = 0) -> int:
        """Start listening, and return the port. If `port` is 0, choose any free port."""
        context = ssl.create_default_context(cafile=self.ca_file)
        self._session = ClientSession(connector=TCPConnector(ssl=context, limit=0), auto_decompress=False)
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self._forward)
        self._runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=tls).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close all connections and stop listening."""
        await self._runner.cleanup()
        await self._session.close()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self.lost.search(request.path):
            await asyncio.Event().wait()
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in CONNECTION_HEADERS]
        url = f"{self.server}{request.raw_path}"
        try:
            async with self._session.request(
                request.method, url, headers=headers, data=body or None, timeout=None
            ) as answer:
                response = web.StreamResponse(status=answer.status)
                for name in ("Content-Type", "Retry-After"):
                    if name in answer.headers:
                        response.headers[name] = answer.headers[name]
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    if self.held.search(request.path_qs):
                        await asyncio.Event().wait()
                    await response.write(chunk)
                return response
        except (ClientError, OSError) as error:
            raise web.HTTPBadGateway(text=str(error)) from error


@contextmanager
def gateway(kubeconfig: Path, through: Path) -> Iterator[Gateway]:
    """Run a gateway to the API server of `kubeconfig`. Write a kubeconfig for the gateway to the file `through`."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster = config["clusters"][0]["cluster"]
    made = Gateway(cluster["server"], cluster.pop("certificate-authority"))
    with loop_in_thread("gateway") as loop:
        port = asyncio.run_coroutine_threadsafe(made.start(), loop).result(CALL_SECONDS)
        try:
            cluster["server"] = f"http://127.0.0.1:{port}"
            through.write_text(yaml.safe_dump(config), encoding="utf-8")
            yield made
        finally:
            asyncio.run_coroutine_threadsafe(made.stop(), loop).result(CALL_SECONDS)
