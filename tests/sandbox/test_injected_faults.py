"""The effect of each injected fault on a client."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.injected_faults import Delay, End, Expire, Fail, Garbage, Reset, Stall
from sandbox.api_objects import binding, pod
from sandbox.kube_api import KubeApi

SHORT_SECONDS = 0.2


async def test_failure_affects_the_given_number_of_requests(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Fail(429, retry_after_seconds=3), verb="list", path="/pods", times=2)
    answers = [await client.get(client.pods) for _ in range(3)]
    assert [answer.code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["Retry-After"] == "3"
    assert answers[0].body["reason"] == "TooManyRequests"


async def test_fault_affects_only_its_verb_and_path(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Fail(500), verb="create", path="/binding$", times=None)
    assert (await client.create(client.pods, pod("p"))).code == 201
    assert (await client.create(f"{client.pods}/p/binding", binding("p", "n"))).code == 500
    sandbox.faults.clear()
    assert (await client.create(f"{client.pods}/p/binding", binding("p", "n"))).code == 201


async def test_reset_before_handling_changes_no_objects(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Reset(), verb="create")
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.create(client.pods, pod("p"))
    assert await client.names(client.pods) == []
    assert ("POST", client.pods, 0) in sandbox.requests


async def test_reset_after_handling_loses_only_the_response(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Reset(handled=True), verb="create")
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.create(client.pods, pod("p"))
    assert await client.names(client.pods) == ["p"]


async def test_delay_postpones_the_response(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Delay(SHORT_SECONDS), verb="list")
    start = time.monotonic()
    await client.names(client.pods)
    assert time.monotonic() - start >= SHORT_SECONDS


async def test_expire_sends_410_in_the_stream_of_a_watch(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Expire(), verb="watch")
    [(kind, status)] = await client.watch(client.pods, 1)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")


async def test_expire_answers_a_list_with_410(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Expire(), verb="list")
    assert (await client.get(client.pods)).code == 410


async def test_watch_from_a_compacted_revision_gets_410(sandbox: SandboxServer, client: KubeApi) -> None:
    await client.create(client.pods, pod("p"))
    sandbox.store.compact()
    [(kind, status)] = await client.watch(client.pods, 1, resourceVersion="2")
    assert (kind, status["code"]) == ("ERROR", 410)
    assert status["message"].startswith("too old resource version: 2 ")


async def test_stalled_watch_sends_nothing_until_the_fault_is_removed(sandbox: SandboxServer, client: KubeApi) -> None:
    since = (await client.get(client.pods)).revision
    watching = asyncio.create_task(client.watch(client.pods, 1, resourceVersion=since, timeoutSeconds="10"))
    fault = sandbox.faults.add(Stall(), path="/pods")
    await client.create(client.pods, pod("p"))
    done, _ = await asyncio.wait([watching], timeout=SHORT_SECONDS)
    assert not done
    sandbox.faults.remove(fault)
    [(kind, _)] = await watching
    assert kind == "ADDED"


async def test_client_can_watch_again_after_an_injected_end(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(End(), verb="watch")
    since = (await client.get(client.pods)).revision
    assert await client.watch(client.pods, 1, resourceVersion=since, timeoutSeconds="10") == []
    await client.create(client.pods, pod("p"))
    assert len(await client.watch(client.pods, 1, resourceVersion=since)) == 1


async def test_midline_end_breaks_a_watch_in_the_middle_of_an_event(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(End(midline=True), verb="watch")
    with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, ValueError)):
        await client.watch(client.pods, 1, timeoutSeconds="10")


async def test_garbage_answers_with_200_and_a_body_that_is_not_json(sandbox: SandboxServer, client: KubeApi) -> None:
    sandbox.faults.add(Garbage(), verb="list")
    answer = await client.get(client.pods)
    assert (answer.code, answer.body) == (200, "<html>502 Bad Gateway</html>")
