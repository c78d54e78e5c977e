"""What the plugins share that evaluate nodes by their labels: who is allowed, and what each scores, once a template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection, ScorePlugin
from moorage.framework.status import Code

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod, PodShape


@dataclass(frozen=True, slots=True)
class NodeEvaluation:
    """What policy and template make of the cluster's nodes."""

    allowed: BoolArray
    scores: IntArray


class NodeEvaluationPlugin(FilterPlugin[None], ScorePlugin[None], ABC):
    """Filters and scores by an opinion that holds as long as the nodes stay what they are."""

    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node"})

    reason: ClassVar[str]
    """Why a node that is not allowed is refused."""

    @abstractmethod
    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Form the opinion on all nodes of the cluster."""

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that are allowed."""
        del state
        passed = nodes.gather(self._evaluation(pod, nodes).allowed)
        return FilterResult(passed, lambda: (Rejection(~passed, self.reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score as the opinion says; not normalised."""
        del state
        return nodes.gather(self._evaluation(pod, nodes).scores)

    def _evaluation(self, pod: Pod, nodes: Snapshot) -> NodeEvaluation:
        cluster, shape = nodes.cluster, pod.shape
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self.evaluate(shape, cluster))
