"""NodeAffinity: labels and names that nodes must have, or gain by.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.node_selectors import (
    METADATA_NAME,
    matches_pod_affinity,
    matches_selector,
    matches_term,
    node_matches,
    node_meets_pod_affinity,
)
from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScoreResult,
    Rejection,
    ScorePlugin,
)
from moorage.framework.normalize import default_normalize
from moorage.framework.status import SKIP, SUCCESS, Code, error, unresolvable
from moorage.model.pods.affinity import NodeAffinityTerms
from moorage.plugins.shared.node_affinity_args import AddedAffinity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.selectors import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


@dataclass(frozen=True, slots=True)
class _Matches:
    """What a shape's affinity and the added one make of the cluster's nodes."""

    enforced: BoolArray
    passed: BoolArray
    preferred: IntArray
    """Sum of the weights of the preferred terms that match."""


class NodeAffinity(PreFilterPlugin[None], FilterPlugin[None], ScorePlugin[None]):
    """Filters by nodeSelector and required node affinity, scores by preferred node affinity."""

    default_weight = 2
    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node"})

    added_affinity: AddedAffinity | None = None
    """A node affinity that every pod of the profile has, besides its own."""

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip where nothing is required."""
        return _required(shape) is None and self._added.required is None and shape.node_selector is None

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Skip where nothing is required; narrow the nodes where every term of the pod names some."""
        del snapshot
        if self.skips_filter(pod.shape):
            return PreFilterResult(SKIP)
        required = _required(pod.shape)
        names = _named_nodes(required.terms) if required else None
        if names is not None and not names:
            return PreFilterResult(unresolvable(REASON_CONFLICT))
        return PreFilterResult(node_names=names)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that meet the added affinity and the pod's."""
        del state
        matches = self._matches(pod.shape, nodes)
        passed = nodes.gather(matches.passed)

        def rejections() -> Sequence[Rejection]:
            enforced = nodes.gather(matches.enforced)
            return (
                Rejection(~enforced, REASON_ENFORCED, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(enforced & ~passed, REASON_POD, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
            )

        return FilterResult(passed, rejections)

    def skips_score(self, shape: PodShape) -> bool:
        """Skip where nothing is preferred."""
        return not (_preferred(shape) or self._added.preferred)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Skip where nothing is preferred; a preferred term that cannot be read is an error."""
        del nodes
        preferred = _preferred(pod.shape)
        errors = [
            f"[{index}].{entry.term.error}"
            for index, entry in enumerate(preferred)
            if entry.weight and entry.term.error
        ]
        if errors:
            return PreScoreResult(error(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"))
        return PreScoreResult(SKIP if self.skips_score(pod.shape) else SUCCESS)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Sum up the weights of the preferred terms that each node matches."""
        del state
        return nodes.gather(self._matches(pod.shape, nodes).preferred)

    def normalize(self, state: None, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Give most to the nodes with the greatest sum."""
        del state, pod, nodes
        return default_normalize(scores)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node that it may use is added or comes to match."""
        old, new = event.old, event.new
        if new is None or (self._added.required and not node_matches(self._added.required, new)):
            return False
        if not node_meets_pod_affinity(pod.shape, new):
            return False
        return old is None or old.labels != new.labels

    @cached_property
    def _added(self) -> NodeAffinityTerms:
        return self.added_affinity.digest() if self.added_affinity else NodeAffinityTerms()

    def _matches(self, shape: PodShape, nodes: Snapshot) -> _Matches:
        cluster = nodes.cluster
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._match(shape, cluster))

    def _match(self, shape: PodShape, cluster: Snapshot) -> _Matches:
        enforced = np.ones(cluster.size, dtype=np.bool_)
        if self._added.required:
            enforced = matches_selector(self._added.required, cluster)
        preferred = np.zeros(cluster.size, dtype=np.int64)
        for entry in (*self._added.preferred, *_preferred(shape)):
            preferred += entry.weight * matches_term(entry.term, cluster)
        return _Matches(enforced, enforced & matches_pod_affinity(shape, cluster), preferred)


def _required(shape: PodShape) -> NodeSelector | None:
    return shape.node_affinity.required if shape.node_affinity else None


def _preferred(shape: PodShape) -> tuple[PreferredSchedulingTerm, ...]:
    return shape.node_affinity.preferred if shape.node_affinity else ()


def _named_nodes(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return all nodes that the terms name, if every one of them names some by `metadata.name In`, else None."""
    by_term = [_nodes_of(term) for term in terms]
    if not by_term or None in by_term:
        return None
    return frozenset[str]().union(*(names for names in by_term if names is not None))


def _nodes_of(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Return the nodes that satisfy all of the term's `metadata.name In`, None where it has none."""
    named = [field.values for field in term.fields if field.key == METADATA_NAME and field.operator == "In"]
    return frozenset.intersection(*named) if named else None
