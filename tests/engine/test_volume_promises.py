"""The scheduler assumes the volumes that Reserve chose. Later pods cannot use them unless the binding fails."""

from __future__ import annotations

from builders import make, node
from moorage.cluster.intents import BindVolume, SelectNode
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, updated
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from storage_builders import claim, mounting, storage_class, volume


def scheduler_with(*objects: dict[str, object]) -> Scheduler:
    """Return a scheduler with two nodes and the storage objects."""
    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="default-scheduler"))
    scheduler = Scheduler(1, (profile,))
    for name in ("a", "b"):
        scheduler.apply(added("Node", node(name)), 0.0)
    for body in objects:
        scheduler.apply(added(str(body["kind"]), make(str(body["kind"]), body)), 0.0)
    return scheduler


def bound(scheduler: Scheduler, now: float = 0.0) -> Bind:
    outcome = scheduler.schedule_one(now)
    assert isinstance(outcome, Bind), outcome
    return outcome


STATIC = storage_class("late", provisioner="kubernetes.io/no-provisioner")


def test_volume_that_is_assumed_for_a_pod_is_free_again_after_its_binding_failed() -> None:
    first, second = claim("one", storage_class="late"), claim("two", storage_class="late")
    scheduler = scheduler_with(STATIC, first, second, volume("pv", storage_class="late"))
    scheduler.apply(added("Pod", mounting("p", "one")), 0.0)
    scheduler.apply(added("Pod", mounting("q", "two")), 0.0)

    winner = bound(scheduler)
    assert [type(intent) for intent in winner.intents] == [BindVolume]
    assert isinstance(scheduler.schedule_one(0.0), Unschedulable)

    scheduler.apply(BindingFinished(winner.pod, winner.node_name, error="timed out"), 1.0)
    other = make("PersistentVolume", volume("other"))
    scheduler.apply(updated("PersistentVolume", other, other), 1.0)

    assert [type(intent) for intent in bound(scheduler, 60.0).intents] == [BindVolume]


def test_pods_with_a_claim_that_is_being_provisioned_are_bound_to_the_same_node() -> None:
    scheduler = scheduler_with(storage_class("late"), claim("data", storage_class="late"))
    for name in ("p", "q", "r"):
        scheduler.apply(added("Pod", mounting(name, "data")), 0.0)

    binds = [bound(scheduler) for _ in range(3)]

    assert len({each.node_name for each in binds}) == 1
    assert all(isinstance(intent, SelectNode) for each in binds for intent in each.intents)
