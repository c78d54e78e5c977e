"""Each kind of outcome reaches the part that carries it out."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from builders import make, node, pod
from fakes import running, settle
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.engine.outcomes import CallExtenders, Skipped, Unschedulable
from moorage.model.pods.pod import Pod
from moorage.runtime.binder import BACKLOG_PER_TASK
from runtime_parts import GOLD, RuntimeParts, bind_of


def unschedulable(*, victims: Sequence[Pod] = (), nominated: str | None = None) -> Unschedulable:
    return Unschedulable(
        pod=pod("p"),
        profile=GOLD,
        message="0/1 nodes are available: 1 Insufficient cpu.",
        diagnosis=Diagnosis(1, {"Insufficient cpu": 1}),
        nominated_node_name=nominated,
        victims=victims,
        attempts=1,
        unchanged=False,
    )


async def test_a_decision_reaches_the_binder() -> None:
    parts = RuntimeParts()
    parts.nodes["n1"], parts.pods["default/p"] = node("n1"), pod("p")
    parts.router.carry_out(bind_of(pod("p", node="n1")), parts.clock.now)
    async with running(parts.volume_binder, parts.binder):
        await settle()
    assert parts.sent == ["POST p/binding"]


async def test_an_unschedulable_pod_without_victims_is_reported_and_no_pod_is_evicted() -> None:
    parts = RuntimeParts()
    parts.router.carry_out(unschedulable(), parts.clock.now)
    async with running(parts.evictor, parts.claim_repair):
        await settle()
    assert parts.recorder.notes == ["0/1 nodes are available: 1 Insufficient cpu."]
    assert parts.sent == []


async def test_victims_are_evicted_and_the_nomination_is_written() -> None:
    parts = RuntimeParts()
    parts.router.carry_out(unschedulable(victims=[pod("victim", node="n1")], nominated="n1"), parts.clock.now)
    async with running(parts.evictor):
        await settle()
        await settle()
    assert parts.sent == ["PATCH victim/status", "DELETE victim"]
    assert parts.statuses.submitted[0][1].nominated_node_name == "n1"


async def test_a_claim_whose_selected_node_is_gone_is_repaired() -> None:
    parts = RuntimeParts()
    annotations = {"volume.kubernetes.io/selected-node": "gone"}
    claim = {"metadata": {"name": "data", "namespace": "default", "annotations": annotations}, "spec": {}}
    parts.claims["default/data"] = make("PersistentVolumeClaim", claim)
    waiting = pod("p", spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    parts.router.carry_out(replace(unschedulable(), pod=waiting), parts.clock.now)
    async with running(parts.claim_repair):
        await settle()
    assert parts.sent == ["PATCH data"]


def test_extenders_are_called() -> None:
    parts = RuntimeParts()
    outcome = CallExtenders(pod=pod("p"), profile=GOLD, node_names=("n1",))
    parts.router.carry_out(outcome, parts.clock.now)
    assert parts.extenders.submitted == [outcome]


def test_a_pod_that_is_being_deleted_gets_an_event_and_no_condition() -> None:
    parts = RuntimeParts()
    message = "skip schedule deleting pod: default/p"
    parts.router.carry_out(Skipped(pod=pod("p"), profile=GOLD, message=message), parts.clock.now)
    assert parts.recorder.notes == [message]
    assert not parts.statuses.submitted


@pytest.mark.parametrize("reason", ["standby", "full binder"])
def test_the_router_is_not_ready_on_a_standby_or_with_a_full_binder(reason: str) -> None:
    parts = RuntimeParts(parallelism=1)
    assert parts.router.is_ready
    if reason == "standby":
        parts.leads = False
    else:
        for _ in range(BACKLOG_PER_TASK):
            parts.router.carry_out(bind_of(pod("p", node="n1")), parts.clock.now)
    assert not parts.router.is_ready
