"""Creates objects in bulk on a real API server: simulated nodes, pods and others."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

import aiohttp

from controlplane.component import ControlPlaneError
from controlplane.launcher import ControlPlane

CONCURRENCY = 32
"""The number of simultaneous requests. They keep the API server busy, but do not fill its fair queues."""
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
DEFAULT_ALLOCATABLE = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}
DEFAULT_ZONES = ("zone-a", "zone-b", "zone-c")


@asynccontextmanager
async def api_session(control_plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session to the API server as the cluster admin. Requests in this session need only a path."""
    context = ssl.create_default_context(cafile=control_plane.ca_file)
    async with aiohttp.ClientSession(
        control_plane.server,
        headers={"Authorization": f"Bearer {control_plane.token}", "Content-Type": "application/json"},
        connector=aiohttp.TCPConnector(limit=CONCURRENCY, ssl=context),
    ) as session:
        yield session


async def create_objects(control_plane: ControlPlane, path: str, objects: Iterable[Mapping[str, object]]) -> None:
    """Create objects in the collection `path`, many at a time. Raise ControlPlaneError if the server refuses one."""
    waiting = iter(objects)

    async def create_waiting(session: aiohttp.ClientSession) -> None:
        for body in waiting:
            async with session.post(path, data=json.dumps(body)) as response:
                await _expect(HTTPStatus.CREATED, response)

    try:
        async with api_session(control_plane) as session, asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(create_waiting(session))
    except ExceptionGroup as refusals:
        raise refusals.exceptions[0] from None


async def create_nodes(control_plane: ControlPlane, nodes: Iterable[Mapping[str, object]]) -> None:
    """Create nodes. The API server keeps the status of a created node, so its allocatable needs no second request."""
    await create_objects(control_plane, NODES, nodes)


async def delete_nodes_and_pods(control_plane: ControlPlane) -> None:
    """Delete all nodes and pods. Without a kubelet a graceful deletion never ends, so the grace period is 0."""
    async with api_session(control_plane) as session:
        async with session.get("/api/v1/namespaces") as response:
            namespaces = [item["metadata"]["name"] for item in (await response.json())["items"]]
        for path in (NODES, *(f"/api/v1/namespaces/{name}/pods" for name in namespaces)):
            async with session.delete(path, params={"gracePeriodSeconds": "0"}) as response:
                await _expect(HTTPStatus.OK, response)


async def _expect(status: HTTPStatus, response: aiohttp.ClientResponse) -> None:
    await response.read()  # An unread answer would close the connection.
    if response.status != status:
        message = (await response.json())["message"]
        raise ControlPlaneError(f"{response.method} {response.url.path}: {response.status}: {message}")


def simulated_nodes(count: int, *, zones: Sequence[str] = DEFAULT_ZONES) -> Iterable[dict[str, object]]:
    """Yield `count` equal nodes `node-00000`, `node-00001`, ..., in each zone in turn."""
    for index in range(count):
        yield simulated_node(f"node-{index:05d}", labels={"topology.kubernetes.io/zone": zones[index % len(zones)]})


def simulated_node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> dict[str, object]:
    """Return a Ready node. `allocatable` overrides default amounts. The capacity equals the allocatable."""
    resources = {**DEFAULT_ALLOCATABLE, **(allocatable or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        },
    }


def pause_pod(name: str, *, cpu: str = "100m", **spec: object) -> dict[str, object]:
    """Return a pod with one container that requests `cpu`. `spec` adds fields to the spec of the pod."""
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }
