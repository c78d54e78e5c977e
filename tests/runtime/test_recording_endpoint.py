"""`/debug/recording` says whether the engine is recorded, and starts and stops the recording."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession

from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.health_server import EndpointSources, HealthServer
from moorage.runtime.serving.recording_endpoint import PATH, RecordingSwitch


class FakeRecordings:
    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.is_running = False

    def describe(self) -> dict[str, Any]:
        return {"recording": self.is_running}

    def start(self) -> str:
        self.is_running = not self.fault
        return self.fault

    async def stop(self) -> None:
        self.is_running = False


@asynccontextmanager
async def serving(recordings: FakeRecordings) -> AsyncIterator[str]:
    switch = RecordingSwitch(describe=recordings.describe, start=recordings.start, stop=recordings.stop)
    endpoints = EndpointSources(metrics=lambda: b"", configz=dict, debug_cache=dict, recording=switch)
    server = HealthServer(endpoints, ProcessMetrics("api").serving)
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        await server.stop()


async def send(method: str, url: str, **headers: str) -> tuple[int, str]:
    async with ClientSession() as session, session.request(method, url, headers=headers) as response:
        return response.status, await response.text()


async def test_requests_start_and_stop_a_recording() -> None:
    async with serving(FakeRecordings()) as url:
        answers = [await send(method, url) for method in ("GET", "POST", "GET", "DELETE", "GET")]
    assert [status for status, _ in answers] == [200] * 5
    assert [text for _, text in answers] == [
        f'{{"recording": {state}}}' for state in ("false", "true", "true", "false", "false")
    ]


async def test_a_process_without_a_directory_answers_with_the_next_step() -> None:
    async with serving(FakeRecordings("there is no directory")) as url:
        assert await send("POST", url) == (409, "there is no directory\n")


async def test_a_page_in_a_browser_cannot_start_or_stop_a_recording() -> None:
    recordings = FakeRecordings()
    async with serving(recordings) as url:
        for method in ("POST", "DELETE"):
            assert (await send(method, url, Origin="https://example.com"))[0] == 403
    assert not recordings.is_running
