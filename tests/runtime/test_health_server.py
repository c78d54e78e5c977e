import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession

from builders import pod
from fakes import FakeClock
from moorage.errors import MoorageError
from moorage.model.pods.pod import Pod
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.connection_acceptor import ConnectionLimits
from moorage.runtime.serving.health_server import DEFAULT_LIMITS, EndpointSources, HealthServer, in_url

METRICS = ProcessMetrics("api")


class State:
    def __init__(self) -> None:
        self.live = ""
        self.ready = ""
        self.pods: list[Pod] = []

    def endpoints(self) -> EndpointSources:
        return EndpointSources(
            livez={"loop": lambda: self.live},
            readyz={"informer-Pod": lambda: self.ready},
            details={"loop": lambda: "standby, other holds the Lease"},
            metrics=ProcessMetrics("api").render,
            configz=lambda: {"qps": 50},
            debug_cache=lambda: {"nodes": {"n1"}},
            pods=lambda: self.pods,
            clock=FakeClock(3725.0),
        )


@asynccontextmanager
async def serving(state: State, limits: ConnectionLimits = DEFAULT_LIMITS) -> AsyncIterator[str]:
    server = HealthServer(state.endpoints(), METRICS.serving, limits=limits)
    port = await server.start("127.0.0.1", 0)
    assert port > 0
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


async def get(url: str) -> tuple[int, str]:
    async with ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("path", ["healthz", "livez", "readyz"])
async def test_a_healthy_process_answers_ok(path: str) -> None:
    async with serving(State()) as url:
        assert await get(f"{url}/{path}") == (200, "ok")


async def test_verbose_names_each_check() -> None:
    async with serving(State()) as url:
        status, text = await get(f"{url}/readyz?verbose")
    assert status == 200
    assert text == "[+]loop ok: standby, other holds the Lease\n[+]informer-Pod ok\nreadyz check passed\n"


async def test_a_process_that_has_not_synced_is_alive_but_not_ready() -> None:
    state = State()
    state.ready = "has not synced"
    async with serving(state) as url:
        assert (await get(f"{url}/livez"))[0] == 200
        status, text = await get(f"{url}/readyz")
    assert status == 500
    assert "[-]informer-Pod failed: has not synced" in text
    assert "readyz check failed" in text


async def test_the_text_of_a_fault_cannot_forge_the_line_of_another_check() -> None:
    state = State()
    state.ready = "Forbidden\n[+]all is well \x1b[2J"
    async with serving(state) as url:
        _, text = await get(f"{url}/readyz")
    assert text.splitlines()[1:] == [
        "[-]informer-Pod failed: Forbidden [+]all is well ",
        "readyz check failed",
    ]


async def test_metrics_are_in_prometheus_text_format_without_created_series() -> None:
    async with serving(State()) as url, ClientSession() as session, session.get(f"{url}/metrics") as response:
        text = await response.text()
        assert response.headers["Content-Type"].startswith("text/plain; version=")
    assert "scheduler_schedule_attempts_total" in text
    assert "_created" not in text


@pytest.mark.parametrize(("path", "expected"), [("configz", '{"qps": 50}'), ("debug/cache", '{"nodes": "{\'n1\'}"}')])
async def test_configuration_and_cache_are_json(path: str, expected: str) -> None:
    async with serving(State()) as url:
        assert await get(f"{url}/{path}") == (200, expected)


async def test_a_taken_port_is_an_error_with_the_next_step() -> None:
    async with serving(State()) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(MoorageError, match=rf"127\.0\.0\.1:{port}.*--port"):
            await HealthServer(State().endpoints(), METRICS.serving).start("127.0.0.1", port)


async def test_an_address_of_another_machine_is_an_error_with_the_next_step() -> None:
    with pytest.raises(MoorageError, match=r"cannot listen on 192\.0\.2\.1:0: .*; choose another --bind-address$"):
        await HealthServer(State().endpoints(), METRICS.serving).start("192.0.2.1", 0)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
async def test_the_address_of_all_ipv6_addresses_includes_ipv4() -> None:
    server = HealthServer(State().endpoints(), METRICS.serving)
    port = await server.start("::", 0)
    try:
        for address in ("127.0.0.1", "::1"):
            assert await get(f"http://{in_url(address)}:{port}/livez") == (200, "ok")
    finally:
        await server.stop()


async def exchange(url: str, request: bytes) -> bytes:
    """Send bytes and return all that arrives until the server closes the connection."""
    _, _, address = url.partition("://")
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        async with asyncio.timeout(30):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x00\n\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"GET / HTTP/x\r\n\r\n"]
)
async def test_a_malformed_request_is_refused_and_logged_at_debug(
    garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(State()) as url:
        assert (await exchange(url, garbage)).startswith(b"HTTP/1.0 400 Bad Request")
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


async def test_a_failing_endpoint_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    state = State()
    del state.live
    async with serving(state) as url:
        assert (await get(f"{url}/livez"))[0] == 500
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("part", [b"", b"GET /livez HTTP/1.1\r\nHost: x"])
async def test_a_connection_without_a_complete_request_is_closed(part: bytes) -> None:
    async with serving(State(), ConnectionLimits(idle_seconds=0.5)) as url:
        assert await exchange(url, part) == b""


async def test_pod_resources_are_served_beside_the_metrics() -> None:
    state = State()
    state.pods = [pod("p", cpu="2")]
    async with serving(state) as url:
        status, text = await get(f"{url}/metrics/resources")

    assert status == 200
    assert 'kube_pod_resource_request{namespace="default",pod="p",node="",' in text


async def test_statusz_shows_versions_start_and_paths() -> None:
    accepted = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"
    async with serving(State()) as url:
        _, text = await get(f"{url}/statusz")
        async with ClientSession(headers={"Accept": accepted}) as session, session.get(f"{url}/statusz") as response:
            described = await response.json()

    assert text.startswith("\nmoorage statusz\nWarning: This endpoint is not meant to be machine parseable")
    assert "\nStarted: Thu Jan 01 00:00:00 UTC 1970\nUp: 1 hr 02 min 05 sec\n" in text
    paths = "/configz /debug/cache /healthz /livez /metrics /metrics/resources /readyz /why"
    assert f"\nEmulation version: 1.36\nPaths: {paths}\n" in text
    assert described["kind"] == "Statusz"
    assert described["uptimeSeconds"] == 3725
    assert described["startTime"] == "1970-01-01T00:00:00Z"
