"""TaintToleration: rejects nodes with untolerated taints. Untolerated PreferNoSchedule taints only lower the score.

Many nodes have the same set of taints. The plugin checks each set once for each pod shape, and then gives every node
the result of its set.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PrivateAttr

from moorage.cluster.tolerations import COMPARISON_OPERATORS, tolerated, untolerated
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreScoreResult, Rejection, ScorePlugin
from moorage.framework.normalize import default_normalize
from moorage.framework.status import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.node import Taint
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) had untolerated taint(s)"
PREFER_NO_SCHEDULE = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class TaintMatches:
    """The result of matching a shape's tolerations with the taints of each node of the cluster."""

    passed: BoolArray
    """Nodes whose NoSchedule and NoExecute taints are all tolerated."""
    intolerable: IntArray
    """For each node, the number of untolerated PreferNoSchedule taints."""


class TaintToleration(FilterPlugin[None], ScorePlugin[None]):
    """Filters nodes by NoSchedule and NoExecute taints, and scores nodes by PreferNoSchedule taints."""

    default_weight = 3
    without_pre_score = 'failed to read "PreScoreTaintToleration" from cycleState: not found'
    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node", "Pod"})

    _comparisons: bool = PrivateAttr(default=False)
    """Whether the feature gate for the operators Gt and Lt is on."""

    def model_post_init(self, context: Any, /) -> None:
        """Read the feature gate from the validation context."""
        self._comparisons = COMPARISON_OPERATORS in (context or {}).get("feature_gates", ())

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose NoSchedule and NoExecute taints are all tolerated."""
        del state
        passed = nodes.gather(self._matches(pod.shape, nodes).passed)
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Do nothing. The method exists because profiles may enable this plugin at PreScore."""
        del pod, nodes
        return PreScoreResult()

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return, for each node, the number of untolerated PreferNoSchedule taints."""
        del state
        return nodes.gather(self._matches(pod.shape, nodes).intolerable)

    def normalize(self, state: None, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Reverse and scale the counts, so that nodes with fewer of these taints score higher."""
        del state, pod, nodes
        return default_normalize(scores, reverse=True)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the pod now tolerates all taints of a node, or the pod's tolerations changed."""
        old, new = event.old, event.new
        if new is None:
            return False
        if event.kind == "Pod":
            return bool(new.uid == pod.uid) and (old is None or old.shape.tolerations != new.shape.tolerations)
        return (old is None or self._rejects(pod.shape, old.taints)) and not self._rejects(pod.shape, new.taints)

    def _matches(self, shape: PodShape, nodes: Snapshot) -> TaintMatches:
        cluster = nodes.cluster
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._match(shape, cluster))

    def _match(self, shape: PodShape, cluster: Snapshot) -> TaintMatches:
        ids, classes = cluster.taints.ids, cluster.taints.classes
        passed = np.array([not self._rejects(shape, taints) for taints in classes], dtype=np.bool_)
        intolerable = np.array([self._count_intolerable(shape, taints) for taints in classes], dtype=np.int64)
        return TaintMatches(passed[ids], intolerable[ids])

    def _rejects(self, shape: PodShape, taints: Sequence[Taint]) -> bool:
        return untolerated(shape.tolerations, taints, comparisons=self._comparisons)

    def _count_intolerable(self, shape: PodShape, taints: Sequence[Taint]) -> int:
        return sum(
            taint.effect == PREFER_NO_SCHEDULE
            and not tolerated(shape.tolerations, taint, comparisons=self._comparisons)
            for taint in taints
        )
