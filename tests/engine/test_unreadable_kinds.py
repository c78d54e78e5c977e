"""Kinds that moorage cannot read: pods that need such a kind wait, and all other pods are scheduled."""

import pytest

from builders import node, pod
from engine.scheduler_driver import add_objects, next_outcome, run_until_idle, scheduler_of
from moorage.engine.messages import KindReadable, KindUnreadable
from moorage.engine.outcomes import Bind, SchedulingFailed, Unschedulable

CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
LATER = 20.0
"""In seconds. Longer than the backoff."""


def refused(kind: str) -> KindUnreadable:
    return KindUnreadable(kind, f"moorage may not list {kind}", is_refused=True)


def test_pod_with_a_claim_waits_while_the_api_server_refuses_claims() -> None:
    scheduler = scheduler_of(node("n1"))
    scheduler.apply(refused("PersistentVolumeClaim"), 0.0)
    add_objects(scheduler, pod("p", spec=CLAIM))
    assert next_outcome(scheduler, SchedulingFailed).message == "moorage may not list PersistentVolumeClaim"
    scheduler.apply(KindReadable("PersistentVolumeClaim"), 1.0)
    scheduler.tick(LATER)
    outcome = next_outcome(scheduler, Unschedulable, LATER)
    assert 'persistentvolumeclaim "data" not found' in outcome.message


def test_pod_without_claims_does_not_wait_for_storage_kinds() -> None:
    scheduler = scheduler_of(node("n1"))
    scheduler.apply(refused("StorageClass"), 0.0)
    add_objects(scheduler, pod("p"))
    assert next_outcome(scheduler, Bind).node_name == "n1"


def test_pod_with_a_claim_is_tried_if_only_the_connection_fails() -> None:
    scheduler = scheduler_of(node("n1"))
    scheduler.apply(KindUnreadable("PersistentVolumeClaim", "reset", is_refused=False), 0.0)
    add_objects(scheduler, pod("p", spec=CLAIM))
    assert 'persistentvolumeclaim "data" not found' in next_outcome(scheduler, Unschedulable).message


GPU = {"example.com/gpu": "1"}


def test_pod_waits_for_device_classes_if_no_node_has_its_extended_resource() -> None:
    scheduler = scheduler_of(node("n1"))
    scheduler.apply(refused("DeviceClass"), 0.0)
    add_objects(scheduler, pod("p", requests=GPU))
    assert next_outcome(scheduler, SchedulingFailed).message == "moorage may not list DeviceClass"
    scheduler.apply(KindReadable("DeviceClass"), 1.0)
    scheduler.tick(LATER)
    assert "Insufficient example.com/gpu" in next_outcome(scheduler, Unschedulable, LATER).message


@pytest.mark.parametrize("capacity", [GPU, {"example.com/gpu": "0", "cpu": "4"}], ids=["enough", "none"])
def test_pod_waits_for_device_classes_only_if_no_node_has_its_extended_resource(capacity: dict[str, str]) -> None:
    scheduler = scheduler_of(node("n1"), node("n2", allocatable=capacity))
    scheduler.apply(refused("DeviceClass"), 0.0)
    add_objects(scheduler, pod("plain"), pod("p", requests=GPU))
    assert next_outcome(scheduler, Bind).pod.name == "plain"
    if capacity is GPU:
        assert next_outcome(scheduler, Bind).node_name == "n2"
    else:
        assert next_outcome(scheduler, SchedulingFailed).message == "moorage may not list DeviceClass"


def test_preemption_waits_until_the_budgets_are_known() -> None:
    for is_refused in (True, False):
        scheduler = scheduler_of(node("n1", cpu="1"), pod("low", cpu="1", node="n1"))
        scheduler.apply(KindUnreadable("PodDisruptionBudget", "no budgets", is_refused=is_refused), 0.0)
        add_objects(scheduler, pod("high", cpu="1", priority=9))
        waiting = next_outcome(scheduler, Unschedulable)
        assert waiting.victims == ()
        assert waiting.message.endswith("preemption: waits for disruption budgets: no budgets")
        assert run_until_idle(scheduler, LATER) == []
        scheduler.apply(KindReadable("PodDisruptionBudget"), LATER)
        scheduler.tick(LATER)
        outcome = next_outcome(scheduler, Unschedulable, LATER)
        assert [victim.name for victim in outcome.victims] == ["low"]
