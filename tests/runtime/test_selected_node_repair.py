"""Claims whose selected node no longer exists."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import make, node, pod
from fakes import Sent, running, settle
from moorage.errors import ApiError, Conflict, NotFound
from moorage.model.pods.pod import Pod
from moorage.model.volumes.storage_objects import PersistentVolumeClaim
from runtime_parts import RuntimeParts

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


class Scene(RuntimeParts):
    """A repair of claims that runs, in a cluster with the node n1."""

    def __init__(self, *claims: PersistentVolumeClaim) -> None:
        super().__init__(self._answer)
        self.refusals: list[ApiError] = []
        self.nodes["n1"] = node("n1")
        self.claims.update({one.key: one for one in claims})

    def _answer(self, _: Sent) -> Any:
        if self.refusals:
            raise self.refusals.pop()
        return {}


@asynccontextmanager
async def scene(*claims: PersistentVolumeClaim) -> AsyncIterator[Scene]:
    made = Scene(*claims)
    async with running(made.claim_repair):
        yield made


async def test_a_selected_node_that_does_not_exist_is_cleared_and_an_event_is_recorded() -> None:
    async with scene(claim("data", "gone"), claim("web-tmp", "n1")) as at:
        at.claim_repair.submit(web())
        at.claim_repair.submit(web())
        await settle()

    (sent,) = at.api.sent
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/default/persistentvolumeclaims/data")
    assert sent.body == {"metadata": {"resourceVersion": "7", "annotations": {SELECTED_NODE: None}}}
    (event,) = at.recorder.events
    assert (event.regarding.kind, event.regarding.name) == ("PersistentVolumeClaim", "data")
    assert (event.reason, event.reporter, event.warning) == ("SelectedNodeGone", "gpu", True)
    assert event.note == (
        "The claim's selected node gone does not exist any more; "
        "the selection is cleared, and pod default/web is scheduled again"
    )


async def test_the_claim_of_an_ephemeral_volume_is_repaired_too() -> None:
    async with scene(claim("web-tmp", "gone")) as at:
        at.claim_repair.submit(web())
        await settle()

    assert at.api.sent[0].path.endswith("/web-tmp")


@pytest.mark.parametrize(
    "claim_in_order", [claim("data", "n1"), claim("data", ""), claim("data", "gone", volume_name="pv")]
)
async def test_claims_that_need_no_repair_are_not_changed(claim_in_order: PersistentVolumeClaim) -> None:
    async with scene(claim_in_order) as at:
        at.claim_repair.submit(web())
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
async def test_a_failed_repair_is_retried_at_the_next_attempt_of_the_pod(refusal: ApiError) -> None:
    async with scene(claim("data", "gone")) as at:
        at.refusals = [refusal]
        at.claim_repair.submit(web())
        await settle()
        assert at.recorder.events == []

        at.claim_repair.submit(web())
        await settle()
        assert len(at.recorder.events) == 1
