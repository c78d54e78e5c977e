"""Lifecycle: spot, on-demand and reserved nodes, told by their labels, filtered and ranked by policy and pod.

No single label says how a node is paid for; each provider has its own, and the values' case differs. The first label
with a value that is known decides; where none is, the class is unknown, which is neither the best nor the worst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from moorage.api.base import ListOf
from moorage.api.policy_filters import LifecycleClass
from moorage.api.policy_scores import LifecycleSection, LifecycleSource
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.plugins.shared.node_evaluation import NodeEvaluation, NodeEvaluationPlugin
from moorage.plugins.shared.score_tables import TABLE_UNIT, has_new_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moorage.api.policy_filters import FiltersSection
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) had a lifecycle that the policy excludes"

SPOT, ON_DEMAND, RESERVED, UNKNOWN = CLASSES = ("spot", "on-demand", "reserved", "unknown")

SCORE_ASKED_FOR = 10
SCORE_NOT_ASKED_FOR = 1
SCORE_PREFERRED = 8
SCORE_NEUTRAL = 5
"""The class is unknown, or the pod asks for none and the policy prefers another, or none."""

DEFAULT_SOURCES = (
    LifecycleSource(
        key="eks.amazonaws.com/capacityType", spot=("spot",), on_demand=("on_demand",), reserved=("capacity_block",)
    ),
    LifecycleSource(key="karpenter.sh/capacity-type", spot=("spot",), on_demand=("on-demand",), reserved=("reserved",)),
    LifecycleSource(key="cloud.google.com/gke-provisioning", spot=("spot", "preemptible"), on_demand=("standard",)),
    LifecycleSource(key="cloud.google.com/gke-spot", spot=("true",)),
    LifecycleSource(key="cloud.google.com/gke-preemptible", spot=("true",)),
    LifecycleSource(key="kubernetes.azure.com/scalesetpriority", spot=("spot",), on_demand=("regular",)),
    LifecycleSource(
        key="node.kubernetes.io/lifecycle", spot=("spot",), on_demand=("on-demand", "normal"), reserved=("reserved",)
    ),
)
"""The labels of EKS, Karpenter, GKE and AKS, and the convention of self-managed nodes."""


class Lifecycle(PolicyPlugin, NodeEvaluationPlugin, LifecycleSection):
    """Filters by allowed classes, scores by what the pod asks for or the policy prefers (its section `lifecycle`)."""

    policy_section = "lifecycle"
    default_weight = 5
    reason = REASON

    allow: Annotated[tuple[LifecycleClass, ...], ListOf] = ()
    """The classes that nodes may have. Empty: all."""

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the allowed classes."""
        return {"allow": list(filters.lifecycles)} if filters.lifecycles else {}

    def pod_warnings(self, pod: Pod) -> Sequence[str]:
        """Say that the pod's label names no class; it counts as not asking."""
        value = pod.labels.get(self.pod_label, "")
        if not value or _asked_for(value):
            return ()
        known = f"{SPOT}, {ON_DEMAND} or {RESERVED}"
        return (f"label {self.pod_label}={value} names no lifecycle and is passed over; write {known}",)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node of an allowed class is added, or becomes one."""
        del pod
        return has_new_labels(event) and self._allows(self._class_of(event.new.labels))

    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Judge each class once: 10 or 1 for a pod that asks for one, 8 or 5 for a pod that does not."""
        classes = self._classes(cluster)
        asked = _asked_for(shape.labels.get(self.pod_label, ""))
        allowed = np.array([self._allows(name) for name in CLASSES], dtype=np.bool_)
        scores = np.array([self._score(name, asked) * TABLE_UNIT for name in CLASSES], dtype=np.int64)
        return NodeEvaluation(allowed[classes], scores[classes])

    def _classes(self, cluster: Snapshot) -> IntArray:
        """Return each node's class as an index into CLASSES."""
        unknown = CLASSES.index(UNKNOWN)
        classes = np.full(cluster.size, unknown, dtype=np.int64)
        for source in self._sources:
            column = cluster.label(source.key)
            meanings = [CLASSES.index(_meaning(source, value)) for value in column.values]
            # The last entry is for nodes without the label: their id, ABSENT, indexes from the end.
            told = np.array([*meanings, unknown], dtype=np.int64)[column.ids]
            classes = np.where(classes == unknown, told, classes)
        return classes

    def _class_of(self, labels: Mapping[str, str]) -> str:
        """Return the class that one node's labels tell."""
        told = (_meaning(source, labels.get(source.key, "")) for source in self._sources)
        return next((name for name in told if name != UNKNOWN), UNKNOWN)

    @property
    def _sources(self) -> tuple[LifecycleSource, ...]:
        return self.sources or DEFAULT_SOURCES

    def _allows(self, lifecycle: str) -> bool:
        return not self.allow or lifecycle in self.allow

    def _score(self, lifecycle: str, asked: str | None) -> int:
        if lifecycle == UNKNOWN:
            return SCORE_NEUTRAL
        if asked is not None:
            return SCORE_ASKED_FOR if lifecycle == asked else SCORE_NOT_ASKED_FOR
        return SCORE_PREFERRED if lifecycle == self.prefer else SCORE_NEUTRAL


def _asked_for(value: str) -> str | None:
    """Return the class that a pod's label names, in any case; None where it names none."""
    return value.lower() if value.lower() in {SPOT, ON_DEMAND, RESERVED} else None


def _meaning(source: LifecycleSource, value: str) -> str:
    """Return the class that a label's value tells, compared in any case."""
    by_class = {SPOT: source.spot, ON_DEMAND: source.on_demand, RESERVED: source.reserved}
    return next(
        (name for name, values in by_class.items() if value.lower() in {known.lower() for known in values}), UNKNOWN
    )
