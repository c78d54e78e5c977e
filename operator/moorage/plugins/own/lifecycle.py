"""Lifecycle: filters and scores nodes by their lifecycle class: spot, on-demand or reserved.

Each provider has its own label for the class, with values in upper or lower case. The first label with a known value
decides. A node without such a label has the class unknown and gets a middle score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from moorage.api.base import ListOf
from moorage.api.policy_filters import LifecycleClass
from moorage.api.policy_scores import LifecycleSection, LifecycleSource
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.plugins.shared.node_evaluation import NodeEvaluation, NodeEvaluationPlugin, has_new_labels
from moorage.plugins.shared.score_tables import TABLE_UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moorage.api.policy_filters import FiltersSection
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) had a lifecycle that the policy excludes"

SPOT, ON_DEMAND, RESERVED, UNKNOWN = CLASSES = ("spot", "on-demand", "reserved", "unknown")

SCORE_REQUESTED = 10
SCORE_NOT_REQUESTED = 1
SCORE_PREFERRED = 8
SCORE_NEUTRAL = 5
"""The score of the class unknown. If the pod requests no class, also the score of classes that are not preferred."""

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
"""The labels of EKS, Karpenter, GKE and AKS, and the usual label of self-managed nodes."""


class Lifecycle(PolicyPlugin, NodeEvaluationPlugin, LifecycleSection):
    """Filters nodes by lifecycle class, and scores them by the class that the pod requests or the policy prefers."""

    policy_section = "lifecycle"
    default_weight = 5
    reason = REASON
    filter_field = "filters.lifecycles"

    allow: Annotated[tuple[LifecycleClass, ...], ListOf] = ()
    """The allowed classes. If empty, all classes are allowed."""

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the allowed classes."""
        return {"allow": list(filters.lifecycles)} if filters.lifecycles else {}

    def pod_warnings(self, pod: Pod) -> Sequence[str]:
        """Return a warning if the value of the pod's label is not a class; the plugin then ignores the label."""
        value = pod.labels.get(self.pod_label, "")
        if not value or _requested_class(value):
            return ()
        known = f"{SPOT}, {ON_DEMAND} or {RESERVED}"
        return (f"label {self.pod_label}={value} names no lifecycle and is ignored; set it to {known}",)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node of an allowed class was added or relabelled."""
        del pod
        return has_new_labels(event) and self._allows(self.class_of(event.new.labels))

    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Evaluate each class once, in points of the table.

        If the pod requests a class, that class gets 10 and the others get 1. Otherwise the class that the policy
        prefers gets 8 and the others get 5. The class unknown always gets 5.
        """
        classes = self._classes(cluster)
        requested = _requested_class(shape.labels.get(self.pod_label, ""))
        allowed = np.array([self._allows(name) for name in CLASSES], dtype=np.bool_)
        scores = np.array([self._score(name, requested) * TABLE_UNIT for name in CLASSES], dtype=np.int64)
        return NodeEvaluation(allowed[classes], scores[classes])

    def _classes(self, cluster: Snapshot) -> IntArray:
        """Return each node's class as an index into CLASSES."""
        unknown = CLASSES.index(UNKNOWN)
        classes = np.full(cluster.size, unknown, dtype=np.int64)
        for source in self._sources:
            column = cluster.label(source.key)
            indices = [CLASSES.index(_lifecycle_of(source, value)) for value in column.values]
            # The last entry is for nodes without the label, whose id is ABSENT (-1).
            found = np.array([*indices, unknown], dtype=np.int64)[column.ids]
            classes = np.where(classes == unknown, found, classes)
        return classes

    def class_of(self, labels: Mapping[str, str]) -> str:
        """Return the class of a node with these labels."""
        found = (_lifecycle_of(source, labels.get(source.key, "")) for source in self._sources)
        return next((name for name in found if name != UNKNOWN), UNKNOWN)

    @property
    def _sources(self) -> tuple[LifecycleSource, ...]:
        return self.sources or DEFAULT_SOURCES

    def _allows(self, lifecycle: str) -> bool:
        return not self.allow or lifecycle in self.allow

    def _score(self, lifecycle: str, requested: str | None) -> int:
        if lifecycle == UNKNOWN:
            return SCORE_NEUTRAL
        if requested is not None:
            return SCORE_REQUESTED if lifecycle == requested else SCORE_NOT_REQUESTED
        return SCORE_PREFERRED if lifecycle == self.prefer else SCORE_NEUTRAL


def _requested_class(value: str) -> str | None:
    """Return the class that the value of a pod's label names, ignoring case; None if it names no class."""
    return value.lower() if value.lower() in {SPOT, ON_DEMAND, RESERVED} else None


def _lifecycle_of(source: LifecycleSource, value: str) -> str:
    """Return the class for a value of a node label, ignoring case."""
    by_class = {SPOT: source.spot, ON_DEMAND: source.on_demand, RESERVED: source.reserved}
    return next(
        (name for name, values in by_class.items() if value.lower() in {known.lower() for known in values}), UNKNOWN
    )
