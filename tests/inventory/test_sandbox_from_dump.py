"""The sandbox starts with the objects of a dump, and a listing of this sandbox gives the same objects."""

from __future__ import annotations

from random import Random

import pytest

from builders import Object
from fakes import Client
from inventory.clusters import web_cluster
from inventory.listings import RecordedProgress
from moorage.api.crd import crd
from moorage.errors import Forbidden
from moorage.inventory import Inventory
from moorage.runtime.clock import Clock
from moorage.runtime.cluster_listing import NOT_SERVED, ClusterListing
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.injected_faults import Expire, Fail
from moorage.sandbox.simulation.dumped_objects import create_dumped_objects


def sandbox_of(bodies: list[Object]) -> SandboxServer:
    server = SandboxServer(crds=[crd()])
    create_dumped_objects(server.registry, Inventory.of(bodies))
    return server


async def listing_of(server: SandboxServer, progress: RecordedProgress, page_size: int = 500) -> Inventory:
    async with Client(server.url, server.token) as client:
        return await ClusterListing(client, Random(1), Clock(), progress, page_size=page_size).run()


def comparable(inventory: Inventory) -> dict[str, dict[str, Object]]:
    """Return the objects by kind and name, without the fields that each API server sets itself."""
    found: dict[str, dict[str, Object]] = {}
    for kind in inventory.counts:
        for body in inventory.bodies(kind):
            for name in ("resourceVersion", "creationTimestamp"):
                body["metadata"].pop(name, None)
            found.setdefault(kind, {})[body["metadata"]["name"]] = body
    return found


async def test_sandbox_has_the_objects_of_the_dump() -> None:
    progress = RecordedProgress()
    given = comparable(Inventory.of(web_cluster()))
    async with sandbox_of(web_cluster()) as server:
        found = await listing_of(server, progress, page_size=2)

    listed = comparable(found)
    assert found.counts["Pod"] == progress.counts["Pod"] == 4
    assert progress.messages == []
    assert found.api_server.startswith("v1.")
    assert {name: body["metadata"]["uid"] for name, body in listed["Pod"].items()} == {
        name: body["metadata"]["uid"] for name, body in given["Pod"].items()
    }
    for kind in ("StorageClass", "ReplicaSet", "PersistentVolumeClaim"):
        assert listed[kind] == given[kind]
    assert listed["Namespace"]["default"]["metadata"]["labels"] == {"team": "a"}
    assert listed["Node"]["n1"]["status"]["allocatable"] == given["Node"]["n1"]["status"]["allocatable"]
    assert listed["SchedulingPolicy"]["spot"]["metadata"] == {"name": "spot", "uid": "policy-spot", "generation": 4}
    assert listed["Pod"]["web-0"]["spec"]["nodeName"] == "n1"
    assert listed["Pod"]["web-0"]["metadata"]["ownerReferences"] == given["Pod"]["web-0"]["metadata"]["ownerReferences"]


async def test_running_pods_are_ready() -> None:
    async with sandbox_of(web_cluster()) as server:
        pods = [record.obj for record in server.store.records("pods.")]
    running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
    assert len(running) == 3
    assert all(status["ready"] for pod in running for status in pod["status"]["containerStatuses"])


async def test_budget_allows_as_many_disruptions_as_in_the_dump() -> None:
    async with sandbox_of(web_cluster()) as server:
        found = await listing_of(server, RecordedProgress())
    (budget,) = found.bodies("PodDisruptionBudget")
    assert budget["status"]["disruptionsAllowed"] == 1


async def test_running_pod_is_kept_although_its_requests_exceed_the_node() -> None:
    bodies = web_cluster()
    for body in bodies:
        if body["kind"] == "Pod" and body["metadata"]["name"].startswith("web"):
            body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    async with sandbox_of(bodies) as server:
        found = await listing_of(server, RecordedProgress())
    assert {body["status"]["phase"] for body in found.bodies("Pod")} == {"Running", "Pending"}
    assert found.counts["Pod"] == 4


async def test_forbidden_kind_is_named_and_left_out() -> None:
    progress = RecordedProgress()
    async with sandbox_of(web_cluster()) as server:
        server.faults.add(Fail(403, "Forbidden", "no rule"), path="/poddisruptionbudgets", times=None)
        found = await listing_of(server, progress)
    assert found.unlisted == {"PodDisruptionBudget": "no rule"}
    assert progress.messages == ["policy/poddisruptionbudgets cannot be listed: no rule"]


async def test_kind_that_is_not_served_is_named() -> None:
    progress = RecordedProgress()
    async with SandboxServer() as server:
        found = await listing_of(server, progress)
    assert found.unlisted == {"SchedulingPolicy": NOT_SERVED}


async def test_forbidden_pods_end_the_listing() -> None:
    async with sandbox_of(web_cluster()) as server:
        server.faults.add(Fail(403, "Forbidden", "no rule"), path="/pods", times=None)
        with pytest.raises(Forbidden):
            await listing_of(server, RecordedProgress())


async def test_list_that_expires_between_two_pages_is_read_again() -> None:
    async with sandbox_of(web_cluster()) as server:
        server.faults.add(Expire(), path="/pods", times=1)
        found = await listing_of(server, RecordedProgress())
    assert found.counts["Pod"] == 4


async def test_object_that_cannot_be_read_is_named_and_left_out() -> None:
    progress = RecordedProgress()
    async with sandbox_of(web_cluster()) as server:
        broken = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "namespace": "team"},
            "spec": {"volumes": 3},
        }
        server.store.create("pods.", broken)
        found = await listing_of(server, progress)
    assert found.counts["Pod"] == 4
    assert len(progress.messages) == 1
    assert progress.messages[0].startswith("Pod team/x cannot be read, so it is left out: Expected")
