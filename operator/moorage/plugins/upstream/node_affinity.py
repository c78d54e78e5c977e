"""NodeAffinity: selects and prefers nodes by their labels and names.

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
    matches_requirement,
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
    from collections.abc import Iterator, Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.selectors import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm, Requirement

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


@dataclass(frozen=True, slots=True)
class AffinityMatches:
    """The nodes of the cluster that match the added affinity and the affinity of a shape."""

    enforced: BoolArray
    """Nodes that match the required terms of the added affinity."""
    passed: BoolArray
    """Nodes that match the required terms of the added affinity and of the pod."""
    preferred: IntArray
    """For each node, the sum of the weights of the preferred terms that the node matches."""


class NodeAffinity(PreFilterPlugin[None], FilterPlugin[None], ScorePlugin[None]):
    """Filters nodes by nodeSelector and required node affinity, and scores nodes by preferred node affinity."""

    default_weight = 2
    has_static_filter = True
    has_static_score = True
    interests = frozenset({"Node"})

    added_affinity: AddedAffinity | None = None
    """A node affinity that applies to all pods of the profile, in addition to their own."""

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether the pod and the added affinity both have no required terms."""
        return _required(shape) is None and self._added.required is None and shape.node_selector is None

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Return SKIP if there are no required terms. If all terms of the pod name nodes, limit the cycle to these."""
        del snapshot
        if self.skips_filter(pod.shape):
            return PreFilterResult(SKIP)
        required = _required(pod.shape)
        names = _named_nodes(required.terms) if required else None
        if names is not None and not names:
            return PreFilterResult(unresolvable(REASON_CONFLICT))
        return PreFilterResult(node_names=names)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that match the required terms of the added affinity and of the pod."""
        del state
        matches = self._matches(pod.shape, nodes)
        passed = nodes.gather(matches.passed)

        def rejections() -> Sequence[Rejection]:
            enforced = nodes.gather(matches.enforced)
            return (
                *self._enforced_rejections(nodes, ~enforced),
                Rejection(enforced & ~passed, REASON_POD, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
            )

        return FilterResult(passed, rejections)

    def skips_score(self, shape: PodShape) -> bool:
        """Return whether the pod and the added affinity both have no preferred terms."""
        return not (_preferred(shape) or self._added.preferred)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Return SKIP if there are no preferred terms, and an error if one of the terms is invalid."""
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
        """Sum the weights of the preferred terms that each node matches."""
        del state
        return nodes.gather(self._matches(pod.shape, nodes).preferred)

    def normalize(self, state: None, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Scale the sums so that the highest becomes MAX_NODE_SCORE."""
        del state, pod, nodes
        return default_normalize(scores)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node that matches the required terms was added or relabelled."""
        old, new = event.old, event.new
        if new is None or (self._added.required and not node_matches(self._added.required, new)):
            return False
        if not node_meets_pod_affinity(pod.shape, new):
            return False
        return old is None or old.labels != new.labels

    @cached_property
    def _added(self) -> NodeAffinityTerms:
        return self.added_affinity.decode() if self.added_affinity else NodeAffinityTerms()

    def _enforced_rejections(self, nodes: Snapshot, rejected: BoolArray) -> Iterator[Rejection]:
        """Yield the rejected nodes, grouped by the first of `_shared_requirements` that they do not meet."""
        unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        for requirement in _shared_requirements(self._added.required) if rejected.any() else ():
            failing = rejected & ~matches_requirement(requirement, nodes)
            if failing.any():
                yield Rejection(failing, REASON_ENFORCED, unresolvable, str(requirement))
                rejected = rejected & ~failing
        yield Rejection(rejected, REASON_ENFORCED, unresolvable)

    def _matches(self, shape: PodShape, nodes: Snapshot) -> AffinityMatches:
        cluster = nodes.cluster
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._match(shape, cluster))

    def _match(self, shape: PodShape, cluster: Snapshot) -> AffinityMatches:
        enforced = np.ones(cluster.size, dtype=np.bool_)
        if self._added.required:
            enforced = matches_selector(self._added.required, cluster)
        preferred = np.zeros(cluster.size, dtype=np.int64)
        for entry in (*self._added.preferred, *_preferred(shape)):
            preferred += entry.weight * matches_term(entry.term, cluster)
        return AffinityMatches(enforced, enforced & matches_pod_affinity(shape, cluster), preferred)


def _shared_requirements(selector: NodeSelector | None) -> Sequence[Requirement]:
    """Return the requirements on labels that each term of the selector has, in the order of the first term."""
    first, *others = [term.expressions for term in selector.terms] if selector and selector.terms else [()]
    return [requirement for requirement in first if all(requirement in other for other in others)]


def _required(shape: PodShape) -> NodeSelector | None:
    return shape.node_affinity.required if shape.node_affinity else None


def _preferred(shape: PodShape) -> tuple[PreferredSchedulingTerm, ...]:
    return shape.node_affinity.preferred if shape.node_affinity else ()


def _named_nodes(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return the nodes that the terms name by `metadata.name In`; None if a term does not name nodes."""
    by_term = [_nodes_named_by(term) for term in terms]
    if not by_term or None in by_term:
        return None
    return frozenset[str]().union(*(names for names in by_term if names is not None))


def _nodes_named_by(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Return the nodes that meet all `metadata.name In` requirements of a term; None if it has no such requirement."""
    named = [field.values for field in term.fields if field.key == METADATA_NAME and field.operator == "In"]
    return frozenset.intersection(*named) if named else None
