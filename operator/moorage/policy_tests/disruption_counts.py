"""Computes how many disruptions each budget allows, like the disruption controller of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from moorage.inventory import keep_read_fields
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import PodDisruptionBudget
from moorage.sandbox.kinds.budgets import desired_healthy

Json = dict[str, Any]
KIND = "PodDisruptionBudget"


@dataclass(slots=True)
class DisruptionCounts:
    """The budgets of a test. Without minAvailable and maxUnavailable, a budget keeps the number in its status."""

    _budgets: list[tuple[Json, PodDisruptionBudget]] = field(default_factory=list)
    """The spec of each budget, and the budget as the engine knows it."""
    _lost: dict[str, int] = field(default_factory=dict)
    """The number of evicted pods, by budget."""

    def watch(self, bodies: Iterable[Json], decoder: Decoder) -> None:
        """Add the budgets that are among some objects."""
        for body in bodies:
            if body.get("kind") == KIND:
                metadata = {"namespace": "default", **body["metadata"]}
                kept = keep_read_fields(KIND, {**body, "metadata": metadata})
                self._budgets.append((body.get("spec") or {}, decoder.decode_object(KIND, kept)))

    def evicted(self, pod: Pod) -> None:
        """Record an evicted pod."""
        for _, budget in self._budgets:
            if _covers(budget, pod):
                key = f"{budget.namespace}/{budget.name}"
                self._lost[key] = self._lost.get(key, 0) + 1

    def changes(self, placed: Iterable[Pod]) -> Iterator[tuple[PodDisruptionBudget, PodDisruptionBudget]]:
        """Yield the old and the new version of each budget whose number is different with these running pods."""
        pods = list(placed)
        for index, (spec, budget) in enumerate(self._budgets):
            healthy = sum(_covers(budget, pod) for pod in pods)
            lost = self._lost.get(f"{budget.namespace}/{budget.name}", 0)
            if spec.keys() & {"minAvailable", "maxUnavailable"}:
                # Evicted pods are still expected, because the controller of the workload replaces them later.
                allowed = max(healthy - desired_healthy(spec, healthy + lost), 0)
            else:
                allowed = max(budget.disruptions_allowed - lost, 0)
                self._lost.pop(f"{budget.namespace}/{budget.name}", None)
            if allowed != budget.disruptions_allowed:
                new = replace(budget, disruptions_allowed=allowed)
                self._budgets[index] = (spec, new)
                yield budget, new


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return (
        budget.namespace == pod.namespace and budget.selector is not None and budget.selector.matches(pod.shape.labels)
    )
