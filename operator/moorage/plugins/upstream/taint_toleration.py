"""TaintToleration: taints keep pods off nodes, or make nodes less welcome.

Nodes share few distinct sets of taints: each is judged once a pod's shape, and the answers are gathered by the nodes'
ids. Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
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
class _Judgement:
    """What a shape makes of the cluster's taints."""

    passed: BoolArray
    intolerable: IntArray
    """Number of PreferNoSchedule taints that the shape does not tolerate."""


class TaintToleration(FilterPlugin[None], ScorePlugin[None]):
    """Filters by NoSchedule and NoExecute taints, and prefers nodes with fewer untolerated PreferNoSchedule taints."""

    default_weight = 3
    without_pre_score = 'failed to read "PreScoreTaintToleration" from cycleState: not found'
    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node", "Pod"})

    _comparisons: bool = PrivateAttr(default=False)
    """Whether the feature gate of the operators Gt and Lt is on."""

    def model_post_init(self, context: Any, /) -> None:
        """Take the feature gate, which no argument sets, from the validation's context."""
        self._comparisons = COMPARISON_OPERATORS in (context or {}).get("feature_gates", ())

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose NoSchedule and NoExecute taints are all tolerated."""
        del state
        passed = nodes.gather(self._judgement(pod.shape, nodes).passed)
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Prepare nothing; configurations may name the point all the same."""
        del pod, nodes
        return PreScoreResult()

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Count the PreferNoSchedule taints that are not tolerated."""
        del state
        return nodes.gather(self._judgement(pod.shape, nodes).intolerable)

    def normalize(self, state: None, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Give most to the nodes with the fewest such taints."""
        del state, pod, nodes
        return default_normalize(scores, reverse=True)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node's taints become tolerable, or when its own tolerations may have changed."""
        old, new = event.old, event.new
        if new is None:
            return False
        if event.kind == "Pod":
            return bool(new.uid == pod.uid)
        return (old is None or self._rejects(pod.shape, old.taints)) and not self._rejects(pod.shape, new.taints)

    def _judgement(self, shape: PodShape, nodes: Snapshot) -> _Judgement:
        cluster = nodes.cluster
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._judge(shape, cluster))

    def _judge(self, shape: PodShape, cluster: Snapshot) -> _Judgement:
        ids, classes = cluster.taints.ids, cluster.taints.classes
        passed = np.array([not self._rejects(shape, taints) for taints in classes], dtype=np.bool_)
        intolerable = np.array([self._intolerable(shape, taints) for taints in classes], dtype=np.int64)
        return _Judgement(passed[ids], intolerable[ids])

    def _rejects(self, shape: PodShape, taints: Sequence[Taint]) -> bool:
        return untolerated(shape.tolerations, taints, comparisons=self._comparisons)

    def _intolerable(self, shape: PodShape, taints: Sequence[Taint]) -> int:
        return sum(
            taint.effect == PREFER_NO_SCHEDULE
            and not tolerated(shape.tolerations, taint, comparisons=self._comparisons)
            for taint in taints
        )
