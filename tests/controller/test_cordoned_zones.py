"""A policy with `zones.spread: Require`: placements before and after the nodes of a zone are uncordoned."""

from __future__ import annotations

from collections import Counter

import pytest

from builders import Object, node, pod
from engine.scheduler_driver import run_until_idle, scheduler_of
from moorage.api.v1alpha1 import parse_policy
from moorage.controller.policy_profiles import build_profile
from moorage.engine.outcomes import Bind, Outcome
from moorage.framework.cluster_events import updated
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry

REGISTRY = Registry.discover()
CORDONED: dict[str, object] = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
}
AFTER_BACKOFF_SECONDS = 60.0


def profile(**zones: object) -> Profile:
    spec: Object = {"zones": {"spread": "Require", "scope": "Namespace", **zones}}
    policy = parse_policy({"metadata": {"name": "spread", "uid": "u", "generation": 1}, "spec": spec})
    return build_profile(REGISTRY, ProfileSettings(), policy)


def placed(outcomes: list[Outcome]) -> Counter[str]:
    return Counter(outcome.node_name for outcome in outcomes if isinstance(outcome, Bind))


@pytest.mark.parametrize(
    ("zones", "while_cordoned", "after"),
    [
        ({}, {"a": 1, "b": 1}, {"a": 2, "b": 2, "c": 2}),
        ({"honorUnschedulable": True}, {"a": 3, "b": 3}, {"a": 3, "b": 3}),
    ],
    ids=["default", "honored"],
)
def test_pods_wait_for_a_cordoned_zone_if_the_policy_does_not_honor_cordons(
    zones: dict[str, object], while_cordoned: dict[str, int], after: dict[str, int]
) -> None:
    cordoned, free = node("c", zone="c", **CORDONED), node("c", zone="c")
    pods = [pod(f"p{index}", cpu="100m", spec={"schedulerName": "spread"}) for index in range(6)]
    scheduler = scheduler_of(node("a", zone="a"), node("b", zone="b"), cordoned, *pods, profiles=(profile(**zones),))

    first = placed(run_until_idle(scheduler))
    scheduler.apply(updated("Node", cordoned, free), AFTER_BACKOFF_SECONDS)
    second = placed(run_until_idle(scheduler, AFTER_BACKOFF_SECONDS))

    assert first == while_cordoned
    assert first + second == after
