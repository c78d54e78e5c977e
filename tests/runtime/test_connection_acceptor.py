"""Limits on connections that anyone in the network can open."""

from __future__ import annotations

import asyncio
import gc
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import ClientSession, TCPConnector, web
from aiohttp.typedefs import Handler

from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.certificate import self_signed, serving_context
from moorage.runtime.serving.connection_acceptor import ConnectionLimits
from moorage.runtime.serving.health_server import EndpointSources, HealthServer, ServingSecurity
from scrape import sample

ANSWERS = EndpointSources(metrics=lambda: b"metrics", configz=dict, debug_cache=dict)
Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]
END_SECONDS = 30.0
"""The time limit for the end of a connection that the server closes at once."""


@web.middleware
async def serve_all(request: web.Request, handler: Handler) -> web.StreamResponse:
    return await handler(request)


class Endpoints:
    """A server, the authority that its clients trust, and connections that send nothing."""

    def __init__(self, port: int, trust: ssl.SSLContext | None) -> None:
        self.port = port
        self._trust = trust
        self._peers: list[Peer] = []

    async def connect(self, count: int) -> list[Peer]:
        """Open connections, one after the other."""
        opened = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(count)]
        self._peers += opened
        return opened

    async def livez(self) -> tuple[int, str]:
        scheme = "https" if self._trust else "http"
        connector = TCPConnector(ssl=self._trust or True)
        async with (
            ClientSession(connector=connector) as session,
            session.get(f"{scheme}://127.0.0.1:{self.port}/livez") as response,
        ):
            return response.status, await response.text()

    async def close(self) -> None:
        for _, writer in self._peers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in self._peers), return_exceptions=True)


@pytest.fixture
def metrics() -> ProcessMetrics:
    return ProcessMetrics("api")


@asynccontextmanager
async def serving(
    metrics: ProcessMetrics, limits: ConnectionLimits, pem: Path | str | None
) -> AsyncIterator[Endpoints]:
    security = trust = None
    if isinstance(pem, Path):
        pem.write_bytes(  # noqa: ASYNC240
            self_signed(["127.0.0.1"], datetime.now(UTC))
        )
        security = ServingSecurity(context=serving_context(str(pem), str(pem), ()), middleware=serve_all)
        trust = ssl.create_default_context(cafile=str(pem))
    server = HealthServer(ANSWERS, metrics.serving, security, limits)
    endpoints = Endpoints(await server.start("127.0.0.1", 0), trust)
    try:
        yield endpoints
    finally:
        await endpoints.close()
        await server.stop()


async def end_of(peer: Peer) -> bytes:
    """Return the bytes that arrive until the server closes or resets the connection."""
    try:
        return await asyncio.wait_for(peer[0].read(), END_SECONDS)
    except ConnectionError:
        return b""


def tls_connections() -> int:
    """Return the number of TLS connections in memory."""
    return sum(isinstance(each, SSLProtocol) for each in gc.get_objects())


@pytest.mark.parametrize("file", [None, "serving.pem"], ids=["http", "https"])
async def test_a_new_connection_closes_the_oldest_one_at_the_limit(
    file: str | None, metrics: ProcessMetrics, tmp_path: Path
) -> None:
    limits = ConnectionLimits(connections=4)
    async with serving(metrics, limits, file and tmp_path / file) as endpoints:
        oldest, *others = await endpoints.connect(4)
        assert await endpoints.livez() == (200, "ok")
        assert await end_of(oldest) == b""
        assert not any(reader.at_eof() for reader, _ in others)
    assert sample(metrics, "moorage_serving_refused_total", limit="connections") == 1


@pytest.mark.parametrize("file", [None, "serving.pem"], ids=["http", "https"])
async def test_health_is_served_during_a_flood_of_connections(
    file: str | None, metrics: ProcessMetrics, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ConnectionLimits(connections=4)
    async with serving(metrics, limits, file and tmp_path / file) as endpoints:
        await endpoints.connect(50)
        assert await endpoints.livez() == (200, "ok")
    assert sample(metrics, "moorage_serving_refused_total", limit="connections") == 47
    assert len([record for record in caplog.records if "4 connections" in record.message]) == 1


async def test_a_handshake_that_does_not_end_in_time_is_closed(metrics: ProcessMetrics, tmp_path: Path) -> None:
    limits = ConnectionLimits(handshake_seconds=0.1)
    async with serving(metrics, limits, tmp_path / "serving.pem") as endpoints:
        (peer,) = await endpoints.connect(1)
        peer[1].write(b"\x16\x03\x01\x02\x00")  # an incomplete TLS record
        assert await end_of(peer) == b""
    assert sample(metrics, "moorage_serving_refused_total", limit="handshake") == 1


async def test_the_limit_does_not_count_connections_that_have_ended(metrics: ProcessMetrics) -> None:
    async with serving(metrics, ConnectionLimits(connections=2), None) as endpoints:
        for _ in range(5):
            assert await endpoints.livez() == (200, "ok")
    assert sample(metrics, "moorage_serving_refused_total", limit="connections") == 0


async def test_a_stop_closes_connections_in_their_handshake(metrics: ProcessMetrics, tmp_path: Path) -> None:
    async with serving(metrics, ConnectionLimits(), tmp_path / "serving.pem") as endpoints:
        peers = await endpoints.connect(3)
        assert await endpoints.livez() == (200, "ok")
    assert [await end_of(peer) for peer in peers] == [b"", b"", b""]


async def test_closed_connections_free_their_memory_without_a_garbage_collection(
    metrics: ProcessMetrics, tmp_path: Path
) -> None:
    gc.collect()
    before = tls_connections()
    gc.disable()
    try:
        async with serving(metrics, ConnectionLimits(connections=4), tmp_path / "serving.pem") as endpoints:
            await endpoints.connect(40)
            assert await endpoints.livez() == (200, "ok")
            # There are four open connections, and the client's and the server's end of the request to /livez.
            assert tls_connections() - before <= 6
    finally:
        gc.enable()
