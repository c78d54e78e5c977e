"""The engine counts what pods request, but only while a live profile reads the counts."""

from __future__ import annotations

from builders import node, pod
from engine.doubles import SCHEDULER
from engine.scheduler_driver import add_objects, run_until_idle
from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.cluster.request_mix import RENEWAL_PODS
from moorage.engine.counterfactuals.cluster_copy import content_of
from moorage.engine.messages import ProfileChanged, ProfileRemoved
from moorage.engine.outcomes import Bind
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, updated
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry

REGISTRY = Registry.discover()
PLAIN = REGISTRY.build_profile(ProfileSpec(scheduler_name=SCHEDULER))
READING = REGISTRY.build_profile(
    ProfileSpec(
        scheduler_name=SCHEDULER,
        plugins=Plugins(score=PluginSet(enabled=(PluginEntry(name="Scarcity", weight=5),))),
        plugin_config=(PluginConfig(name="Scarcity", args={"resources": ["cpu"]}),),
    )
)


def scheduler_with(profile: Profile) -> Scheduler:
    return Scheduler(1, (profile,))


def amounts(scheduler: Scheduler) -> dict[int, float]:
    """Return the share of each requested amount of cpu."""
    return {request.amount("cpu"): share for request, share in scheduler.snapshot.request_mix.shares}


def test_nothing_is_counted_without_a_profile_that_reads_the_mix() -> None:
    scheduler = scheduler_with(PLAIN)
    add_objects(scheduler, node(cpu="400"), *(pod(f"p{number}", cpu="1") for number in range(2 * RENEWAL_PODS)))
    assert amounts(scheduler) == {}


def test_each_pod_is_counted_once_although_it_is_bound_later() -> None:
    scheduler = scheduler_with(READING)
    pods = [pod(f"p{number}", cpu="1") for number in range(RENEWAL_PODS - 1)]
    add_objects(scheduler, node(cpu="400"), *pods)
    for outcome in run_until_idle(scheduler):
        assert isinstance(outcome, Bind)
        scheduler.apply(updated("Pod", outcome.pod, outcome.pod), 1.0)  # The watch delivers the bound pod.
    assert amounts(scheduler) == {}

    scheduler.apply(added("Pod", pod("last", cpu="1")), 1.0)

    assert amounts(scheduler) == {1000: 1.0}


def test_placed_and_waiting_pods_are_counted_when_a_policy_begins_to_read_the_mix() -> None:
    scheduler = scheduler_with(PLAIN)
    add_objects(scheduler, node(cpu="2"), pod("placed", cpu="1", node="n"), pod("waits", cpu="3"))

    scheduler.apply(ProfileChanged(READING), 0.0)

    assert amounts(scheduler) == {1000: 0.5, 3000: 0.5}


def test_the_mix_is_forgotten_after_the_last_policy_that_reads_it_was_removed() -> None:
    scheduler = scheduler_with(READING)
    add_objects(scheduler, node(cpu="2"), pod("placed", cpu="1", node="n"))
    scheduler.apply(ProfileChanged(READING), 0.0)

    scheduler.apply(ProfileRemoved(SCHEDULER), 0.0)

    assert amounts(scheduler) == {}
    assert not scheduler.snapshot.request_mix.is_learning


def test_a_copy_of_the_cluster_has_the_same_shares() -> None:
    scheduler = scheduler_with(PLAIN)
    add_objects(scheduler, node(cpu="2"), pod("placed", cpu="1", node="n"))
    scheduler.apply(ProfileChanged(READING), 0.0)

    copied = content_of(scheduler.snapshot).build().snapshot

    assert copied.request_mix.shares == scheduler.snapshot.request_mix.shares != ()


def test_the_mix_decides_where_a_pod_goes() -> None:
    """A usual pod needs 2 cpus and 8Gi. So the pod gets the node whose free cpu no usual pod can use."""
    scheduler = scheduler_with(READING)
    usual = pod("usual", cpu="2", memory="8Gi", node="gone")
    add_objects(scheduler, node("rich", cpu="4", memory="16Gi"), node("poor", cpu="4", memory="4Gi"), usual)
    scheduler.apply(ProfileChanged(PLAIN), 0.0)
    scheduler.apply(ProfileChanged(READING), 0.0)

    scheduler.apply(added("Pod", pod("new", cpu="2")), 0.0)
    (outcome,) = run_until_idle(scheduler)

    assert getattr(outcome, "node_name", "") == "poor"
