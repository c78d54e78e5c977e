"""The base of plugins that filter and score nodes by labels. All nodes are evaluated once for each pod shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection, ScorePlugin
from moorage.framework.status import Code

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape


@dataclass(frozen=True, slots=True)
class NodeEvaluation:
    """The allowed nodes of the cluster, and the scores of all nodes."""

    allowed: BoolArray
    scores: IntArray


class NodeEvaluationPlugin(FilterPlugin[None], ScorePlugin[None], ABC):
    """A plugin whose result depends only on the pod's shape and the nodes."""

    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node"})

    reason: ClassVar[str]
    """The reason for rejecting a node that is not allowed."""
    filter_field: ClassVar[str]
    """The field of the policy that holds the rule."""

    @abstractmethod
    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Evaluate all nodes of the cluster for pods of the shape."""

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that are allowed."""
        del state
        passed = nodes.gather(self._evaluation(pod, nodes).allowed)
        unresolvable, field = Code.UNSCHEDULABLE_AND_UNRESOLVABLE, self.filter_field
        return FilterResult(passed, lambda: (Rejection(~passed, self.reason, unresolvable, field),))

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return the scores of the evaluation, which are not normalized."""
        del state
        return nodes.gather(self._evaluation(pod, nodes).scores)

    def _evaluation(self, pod: Pod, nodes: Snapshot) -> NodeEvaluation:
        cluster, shape = nodes.cluster, pod.shape
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self.evaluate(shape, cluster))


def has_new_labels(event: ClusterEvent) -> bool:
    """Return whether a node event adds the node or changes its labels."""
    old, new = event.old, event.new
    return new is not None and (old is None or old.labels != new.labels)
