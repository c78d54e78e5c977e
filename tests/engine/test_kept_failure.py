"""Equal pods share the last failure of their shape until the cluster changes."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import Field

import strategies
from builders import make_node, make_pod, node, pod
from engine.scheduler_driver import add_objects, finish_binding, kube_profile, scheduler_of
from moorage.cluster.snapshot import Snapshot
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added, deleted
from moorage.framework.extension_points import FilterPlugin, FilterResult
from moorage.model.pods.pod import Pod

SCHEDULER = kube_profile().name


class CountingFilter(FilterPlugin[None]):
    """A Filter that passes all nodes and keeps the names of all pods that it filters."""

    asked: list[str] = Field(default_factory=list)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        del state
        self.asked.append(pod.name)
        return FilterResult(nodes.pod_count >= 0, tuple)


def waiting(name: str, **fields: Any) -> Pod:
    return pod(name, **{"cpu": "8", **fields})


def counted() -> tuple[CountingFilter, Scheduler]:
    profile = kube_profile()
    counter = CountingFilter()
    counting = dataclasses.replace(profile, filter=(counter, *profile.filter))
    return counter, scheduler_of(node("n1", cpu="4"), profiles=(counting,))


def rejected(scheduler: Scheduler, *pods: Pod) -> list[str]:
    add_objects(scheduler, *pods)
    outcomes = [scheduler.schedule_one(0.0) for _ in pods]
    assert all(isinstance(outcome, Unschedulable) for outcome in outcomes)
    return [outcome.message for outcome in outcomes if isinstance(outcome, Unschedulable)]


def test_equal_pods_share_a_failure() -> None:
    counter, scheduler = counted()
    messages = rejected(scheduler, waiting("a"), waiting("b"), waiting("c"))
    assert len(set(messages)) == 1
    assert counter.asked == ["a"]


def test_pods_of_different_priority_do_not_share_a_failure() -> None:
    counter, scheduler = counted()
    rejected(scheduler, waiting("a", priority=2), waiting("b", priority=1))
    assert counter.asked == ["a", "b"]


def test_pods_of_different_shape_do_not_share_a_failure() -> None:
    counter, scheduler = counted()
    rejected(scheduler, waiting("a"), waiting("b", cpu="9"))
    assert counter.asked == ["a", "b"]


def test_plugins_run_again_after_a_change_of_the_cluster() -> None:
    counter, scheduler = counted()
    rejected(scheduler, waiting("a"))
    scheduler.apply(added("Pod", pod("placed", node="n1", cpu="1")), 0.0)
    rejected(scheduler, waiting("b"))
    scheduler.apply(added("Node", node("n2", cpu="2")), 0.0)
    assert "0/2 nodes" in rejected(scheduler, waiting("c"))[0]
    assert {"a", "b", "c"} <= set(counter.asked)


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, int, int]]]:
    """Draw nodes, pod templates, and steps: a kind, a template or a pod, and a priority."""
    nodes = draw(st.lists(st.sampled_from(strategies.NODE_NAMES), min_size=1, max_size=4, unique=True))
    node_bodies = [draw(strategies.node_objects(name)) for name in nodes]
    templates = draw(st.lists(strategies.pod_objects("t"), min_size=1, max_size=3))
    steps = st.tuples(st.sampled_from(["add", "add", "add", "remove"]), st.integers(0, 30), st.integers(0, 1))
    return node_bodies, templates, draw(st.lists(steps, min_size=2, max_size=25))


class Run:
    """A scheduler that takes the steps of a scenario. If `shares` is False, no two pods have the same shape."""

    def __init__(self, nodes: list[dict[str, Any]], templates: list[dict[str, Any]], *, shares: bool) -> None:
        self.scheduler = scheduler_of(*map(make_node, nodes), profiles=(kube_profile(),))
        self.pods = [make_pod(template) for template in templates]
        self.shares = shares
        self.known: list[Pod] = []
        self.log: list[object] = []

    def take(self, kind: str, number: int, priority: int) -> None:
        if kind == "add":
            template = self.pods[number % len(self.pods)]
            shape = template.shape if self.shares else dataclasses.replace(template.shape)
            name = f"p{len(self.known)}"
            one = replace(template, name=name, uid=name, shape=shape, priority=priority, scheduler_name=SCHEDULER)
            self.known.append(one)
            self.scheduler.apply(added("Pod", one), 0.0)
        elif self.known:
            self._remove(self.known[number % len(self.known)])
        self._settle()

    def _settle(self) -> None:
        for _ in range(100):
            outcome = self.scheduler.schedule_one(0.0)
            match outcome:
                case None:
                    return
                case Bind():
                    self.log.append((outcome.pod.name, outcome.node_name))
                    finish_binding(self.scheduler, outcome)
                    self.known = [outcome.pod if each.uid == outcome.pod.uid else each for each in self.known]
                case Unschedulable():
                    victims = [victim.name for victim in outcome.victims]
                    self.log.append((outcome.pod.name, outcome.message, outcome.nominated_node_name, victims))
                    for victim in outcome.victims:
                        self._remove(victim)
                case _:
                    self.log.append((outcome.pod.name, type(outcome).__name__))
                    return

    def _remove(self, one: Pod) -> None:
        self.scheduler.apply(deleted("Pod", one), 0.0)


@settings(max_examples=150)
@given(scenarios())
def test_sharing_changes_no_decision(
    scenario: tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, int, int]]],
) -> None:
    nodes, templates, steps = scenario
    shared, alone = (Run(nodes, templates, shares=shares) for shares in (True, False))
    for step in steps:
        shared.take(*step)
        alone.take(*step)
        assert shared.log == alone.log
