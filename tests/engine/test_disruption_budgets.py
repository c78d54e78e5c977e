from typing import Any

import pytest

from builders import pod
from moorage.engine.preemption.disruption_budgets import split_by_budgets
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import PodDisruptionBudget


def made_budget(selector: LabelSelector | None, allowed: int = 0, **fields: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="default", name="b", selector=selector, disruptions_allowed=allowed, **fields)


APP = LabelSelector((Requirement("app", "In", frozenset({"a"})),))


@pytest.mark.parametrize(
    ("guard", "labels"),
    [
        (made_budget(None), {"app": "a"}),
        (made_budget(LabelSelector()), {"app": "a"}),
        (made_budget(APP), {"app": "b"}),
        (made_budget(APP, disrupted_pods=frozenset({"p"})), {"app": "a"}),
        (made_budget(LabelSelector((Requirement("app", "DoesNotExist"),))), {}),
    ],
    ids=["no selector", "empty selector", "other labels", "disrupted already", "no labels"],
)
def test_budget_that_does_not_cover_a_pod_is_not_violated(guard: PodDisruptionBudget, labels: dict[str, str]) -> None:
    violating, others = split_by_budgets([pod("p", labels=labels)], [guard])
    assert (len(violating), len(others)) == (0, 1)


def test_first_pods_use_the_allowed_disruptions_and_later_pods_violate_the_budget() -> None:
    pods = [pod(name, labels={"app": "a"}) for name in "xyz"]
    violating, others = split_by_budgets(pods, [made_budget(APP, 2)])
    assert ([each.name for each in others], [each.name for each in violating]) == (["x", "y"], ["z"])
