"""Claims whose selected node is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import make, node, pod
from fakes import FakeApi, FakeRecorder, Sent, settle
from moorage.errors import ApiError, Conflict, NotFound
from moorage.model.pods.pod import Pod
from moorage.model.volumes.storage_objects import PersistentVolumeClaim
from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def web() -> Pod:
    sources: list[dict[str, Any]] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "settings", "configMap": {"name": "settings"}},
    ]
    return pod("web", spec={"volumes": sources, "schedulerName": "gpu"})


def claim(name: str, node_name: str, volume_name: str = "") -> PersistentVolumeClaim:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "7"}
    body = {
        "metadata": {**metadata, "annotations": {SELECTED_NODE: node_name} if node_name else {}},
        "spec": {"volumeName": volume_name},
    }
    made: PersistentVolumeClaim = make("PersistentVolumeClaim", body)
    return made


class Scene:
    def __init__(self, *claims: PersistentVolumeClaim) -> None:
        self.refusals: list[ApiError] = []
        self.api, self.recorder = FakeApi(self._answer), FakeRecorder()
        stores = VolumeStores(pods={}, nodes={"n1": node("n1")}, claims={one.key: one for one in claims}, volumes={})
        self.repair = SelectedNodeRepair(VolumeWriter(self.api.client(), stores), stores, self.recorder)

    def _answer(self, _: Sent) -> Any:
        if self.refusals:
            raise self.refusals.pop()
        return {}


@asynccontextmanager
async def scene(*claims: PersistentVolumeClaim) -> AsyncIterator[Scene]:
    made = Scene(*claims)
    running = asyncio.create_task(made.repair.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_claim_is_freed_of_a_node_that_is_gone_and_told_of() -> None:
    async with scene(claim("data", "gone"), claim("web-tmp", "n1")) as at:
        at.repair.submit(web())
        at.repair.submit(web())
        await settle()

    (sent,) = at.api.sent
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/default/persistentvolumeclaims/data")
    assert sent.body == {"metadata": {"resourceVersion": "7", "annotations": {SELECTED_NODE: None}}}
    (event,) = at.recorder.events
    assert (event.regarding.kind, event.regarding.name) == ("PersistentVolumeClaim", "data")
    assert (event.reason, event.reporter, event.warning) == ("SelectedNodeGone", "gpu", True)
    assert event.note == (
        "Node gone, which was selected for the claim's volume, is gone; "
        "the selection is cleared, and pod default/web is scheduled anew"
    )


async def test_the_claim_of_an_ephemeral_volume_is_freed_too() -> None:
    async with scene(claim("web-tmp", "gone")) as at:
        at.repair.submit(web())
        await settle()

    assert at.api.sent[0].path.endswith("/web-tmp")


@pytest.mark.parametrize("fine", [claim("data", "n1"), claim("data", ""), claim("data", "gone", volume_name="pv")])
async def test_claims_that_are_fine_are_left_alone(fine: PersistentVolumeClaim) -> None:
    async with scene(fine) as at:
        at.repair.submit(web())
        await settle()

    assert at.api.sent == []


@pytest.mark.parametrize(
    "refusal",
    [
        NotFound(404, "NotFound", "gone"),
        Conflict(409, "Conflict", "changed"),
        ApiError.of(500, "InternalError", "slow"),
    ],
)
async def test_what_cannot_be_repaired_now_is_tried_at_the_pod_s_next_attempt(refusal: ApiError) -> None:
    async with scene(claim("data", "gone")) as at:
        at.refusals = [refusal]
        at.repair.submit(web())
        await settle()
        assert at.recorder.events == []

        at.repair.submit(web())
        await settle()
        assert len(at.recorder.events) == 1
