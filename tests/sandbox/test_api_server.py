"""The server: start, stop, pauses, tokens, bookmarks and shared encodings."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import aiohttp
import pytest
import yaml

from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.http.response_format import ResponseEncoder
from moorage.sandbox.http.watches import Watch, WatchOptions
from moorage.sandbox.operations.targets import Target
from sandbox.api_objects import pod
from sandbox.kube_api import KubeApi, until


async def test_wrong_token_is_unauthorized(sandbox: SandboxServer) -> None:
    headers = {"Authorization": "Bearer wrong"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{sandbox.url}/api/v1/pods") as answer:
        assert answer.status == 401


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_health_and_version_need_no_token(sandbox: SandboxServer, path: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(sandbox.url + path) as answer:
        assert answer.status == 200


async def test_kubeconfig_names_server_and_token(sandbox: SandboxServer) -> None:
    config = yaml.safe_load(sandbox.kubeconfig())
    assert config["clusters"][0]["cluster"]["server"] == sandbox.url
    assert config["users"][0]["user"]["token"] == sandbox.token
    assert sandbox.url.startswith("http://127.0.0.1:")


async def test_paused_server_refuses_connections_and_keeps_its_objects(sandbox: SandboxServer, client: KubeApi) -> None:
    await client.create(client.pods, pod("p"))
    url = sandbox.url
    await sandbox.pause()
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.get(client.pods)
    await sandbox.resume()
    assert sandbox.url == url
    assert await client.names(client.pods) == ["p"]


async def test_pause_drops_open_watches(sandbox: SandboxServer, client: KubeApi) -> None:
    await client.create(client.pods, pod("p"))
    with pytest.raises(aiohttp.ClientError):  # noqa: PT012 - the stream breaks inside
        async for _ in client.events(client.pods, timeoutSeconds="30"):
            await sandbox.pause()


async def test_stop_ends_open_watches(client: KubeApi, sandbox: SandboxServer) -> None:
    watching = asyncio.create_task(client.watch(client.pods, 1, timeoutSeconds="30"))

    async def watched() -> bool:
        return any(request.path == client.pods for request in sandbox.requests)

    await until(watched)
    async with asyncio.timeout(30):
        await sandbox.stop()
    await asyncio.wait([watching])
    assert watching.exception() is not None or watching.result() == []


async def test_server_records_requests_with_their_status(sandbox: SandboxServer, client: KubeApi) -> None:
    await client.get(f"{client.pods}/none")
    assert sandbox.requests[-1] == ("GET", f"{client.pods}/none", 404)


async def test_watches_share_one_encoding_of_an_object(sandbox: SandboxServer, client: KubeApi) -> None:
    since = (await client.get(client.pods)).revision
    created = await client.create(client.pods, pod("p"))
    first, second = await asyncio.gather(
        *(client.watch(client.pods, 1, resourceVersion=since) for _ in range(2)),
    )
    assert first == second == [("ADDED", created.body)]
    record = sandbox.store.get("pods.", ("default", "p"))
    assert record is not None
    assert record.encodings.keys() == {""}


async def test_watch_without_changes_sends_bookmarks(sandbox: SandboxServer) -> None:
    async def never_stall() -> None:
        pass

    target = Target(sandbox.registry.resources.pods)
    options = WatchOptions.of(target, "", {"resourceVersion": "1", "allowWatchBookmarks": "true"})
    options = replace(options, bookmark_seconds=0.01)
    watch = Watch(sandbox.store, ResponseEncoder(sandbox.registry.now), target, options, never_stall)
    async with aclosing(watch.lines()) as lines:
        event = json.loads(await anext(lines))
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["resourceVersion"] == str(sandbox.store.revision)


async def test_oversized_body_is_refused(client: KubeApi) -> None:
    assert (await client.create(client.configmaps, {"data": {"x": "y" * 4_000_000}})).code == 413
