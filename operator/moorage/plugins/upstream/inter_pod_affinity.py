"""InterPodAffinity: places pods near other pods or away from them.

The snapshot counts, for each node, the pods that match a term. This plugin adds up the counts of the nodes in each
domain of the term's topology key. The terms of placed pods apply too: their required anti-affinity rejects nodes, and
their other terms change the score.

Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Struct
from pydantic import Field

from moorage.cluster.terms.counted_terms import CarriedKind
from moorage.framework.extension_points import (
    MAX_NODE_SCORE,
    FilterPlugin,
    FilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScoreResult,
    Rejection,
    ScorePlugin,
)
from moorage.framework.status import SKIP, Code
from moorage.plugins.shared.affinity_counts import AffinityCounts, DomainSums, DomainTables
from moorage.plugins.shared.affinity_hints import node_may_help, pod_may_help
from moorage.plugins.shared.affinity_terms import IncomingTerms, resolve_terms
from moorage.plugins.shared.topology_domains import Topology

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


class DomainWeights(Struct, frozen=True, eq=False):
    """The sum of term weights for each domain, by topology key."""

    topology: Topology
    tables: DomainTables


class InterPodAffinity(PreFilterPlugin[AffinityCounts], FilterPlugin[AffinityCounts], ScorePlugin[DomainWeights]):
    """Filters nodes by required pod (anti-)affinity, and scores nodes by preferred pod (anti-)affinity."""

    default_weight: ClassVar[int] = 2
    without_pre_filter: ClassVar[str] = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    hard_pod_affinity_weight: Annotated[int, Field(ge=0, le=100)] = 1
    """The weight in the score of a required affinity term of a placed pod, if the term matches the incoming pod."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """If true, this plugin scores no nodes for a pod that has no preferred terms."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[AffinityCounts]:
        """Sum the matches of the required terms by domain; SKIP if no term applies."""
        affinity = pod.shape.pod_affinity
        carried = snapshot.carried(CarriedKind.REQUIRED_ANTI_AFFINITY, pod.shape)
        if not (carried or affinity.required_affinity or affinity.required_anti_affinity):
            return PreFilterResult(SKIP)
        existing = DomainSums(self._topology(pod.shape, snapshot), snapshot)
        for each in carried:
            existing.add(each.term.topology_key, each.counts)
        if not (existing.tables or affinity.required_affinity or affinity.required_anti_affinity):
            return PreFilterResult(SKIP)
        terms = self._terms(pod.shape, snapshot)
        matches = DomainSums(existing.topology, snapshot)
        for key in terms.affinity_keys:
            matches.add(key, snapshot.counted(terms.affinity))
        conflicts = DomainSums(existing.topology, snapshot)
        for term in terms.anti_affinity:
            conflicts.add(term.topology_key, snapshot.counted(term.counted))
        counts = AffinityCounts(terms, existing.topology, matches.tables, conflicts.tables, existing.tables)
        return PreFilterResult(state=counts)

    def add_pod(self, state: AffinityCounts, pod: Pod, other: Pod, nodes: Snapshot) -> AffinityCounts:
        """Add `other` to the counts of the node's domains."""
        return state.changed(pod, other, nodes, 1)

    def remove_pod(self, state: AffinityCounts, pod: Pod, other: Pod, nodes: Snapshot) -> AffinityCounts:
        """Subtract `other` from the counts of the node's domains."""
        return state.changed(pod, other, nodes, -1)

    def filter(self, state: AffinityCounts, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that satisfy the pod's affinity and anti-affinity and the anti-affinity of placed pods."""
        del pod
        affinity = state.satisfies_affinity(nodes)
        anti_affinity = state.satisfies_anti_affinity(nodes)
        existing = state.satisfies_existing_anti_affinity(nodes)

        def rejections() -> Sequence[Rejection]:
            return (
                Rejection(~affinity, AFFINITY_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(affinity & ~anti_affinity, ANTI_AFFINITY_REASON),
                Rejection(affinity & anti_affinity & ~existing, EXISTING_ANTI_AFFINITY_REASON),
            )

        return FilterResult(affinity & anti_affinity & existing, rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[DomainWeights]:
        """Sum the weights of matching terms by domain; SKIP if no placed pod matches."""
        affinity = pod.shape.pod_affinity
        has_preferences = bool(affinity.preferred_affinity or affinity.preferred_anti_affinity)
        if self.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return PreScoreResult(SKIP)
        cluster = nodes.cluster
        weighted = list(self._weighted_counts(pod, cluster, has_preferences=has_preferences))
        if not weighted:
            return PreScoreResult(SKIP)
        sums = DomainSums(self._topology(pod.shape, cluster), cluster)
        for key, weight, counts in weighted:
            sums.add(key, counts, weight)
        return PreScoreResult(state=DomainWeights(sums.topology, sums.tables)) if sums.tables else PreScoreResult(SKIP)

    def score(self, state: DomainWeights, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return the sum of the weights of each node's domains; it may be negative."""
        del pod
        scores = np.zeros(nodes.size, np.int64)
        for key, weights in state.tables.items():
            scores += state.topology.domains(key, nodes).spread(weights, nodes)
        return scores

    def normalize(self, state: DomainWeights, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Scale the scores linearly to 0..MAX_NODE_SCORE, in floats like upstream; 0 if all scores are equal."""
        del state, pod, nodes
        low, high = scores.min(), scores.max()
        if low == high:
            return np.zeros_like(scores)
        scaled: IntArray = (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)
        return scaled

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the event may make a node satisfy the pod's required terms."""
        if event.kind == "Node":
            return node_may_help(pod, event.old, event.new)
        return pod_may_help(pod, event)

    def _topology(self, shape: PodShape, cluster: Snapshot) -> Topology:
        return cluster.memo((self, "topology"), shape, cluster.generations.nodes, Topology)

    def _terms(self, shape: PodShape, cluster: Snapshot) -> IncomingTerms:
        generation = cluster.generations.namespaces
        return cluster.memo(self, shape, generation, lambda: resolve_terms(shape, cluster.namespaces))

    def _weighted_counts(
        self, pod: Pod, cluster: Snapshot, *, has_preferences: bool
    ) -> Iterable[tuple[str, int, IntArray]]:
        """Yield the topology key, the weight and the counts by node of each term that changes the score."""
        shape = pod.shape
        if has_preferences:
            for term in self._terms(shape, cluster).preferred:
                yield term.topology_key, term.weight, cluster.counted(term.counted)
        if self.hard_pod_affinity_weight > 0:
            for carried in cluster.carried(CarriedKind.REQUIRED_AFFINITY, shape):
                yield carried.term.topology_key, self.hard_pod_affinity_weight, carried.counts
        for carried in cluster.carried(CarriedKind.PREFERRED_AFFINITY, shape):
            yield carried.term.topology_key, carried.weight, carried.counts
        for carried in cluster.carried(CarriedKind.PREFERRED_ANTI_AFFINITY, shape):
            yield carried.term.topology_key, -carried.weight, carried.counts
