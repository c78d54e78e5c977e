"""InterPodAffinity: pods that want to run near other pods, or away from them.

A term is counted by node in the snapshot; here the counts are summed over the domains of its topology key. Placed pods
have their say as well: their required anti-affinity keeps a pod out, their other terms attract or repel it.

Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from moorage.cluster.arrays import ABSENT
from moorage.cluster.terms.counted_terms import CarriedKind, CarriedTerm
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
from moorage.plugins.shared.affinity_hints import node_may_help, pod_may_help
from moorage.plugins.shared.affinity_terms import IncomingTerms, resolve_terms
from moorage.plugins.shared.topology_domains import Topology

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"

Tables = Mapping[str, "IntArray"]
"""By topology key: a table of the key's domains (see `moorage.plugins.shared.topology_domains`)."""


class RequiredState(Struct, frozen=True, eq=False):
    """What Filter needs: the pod's terms, and how many pods each domain has that they, or others' terms, speak of."""

    terms: IncomingTerms
    topology: Topology
    affinity: Tables
    anti_affinity: Tables
    existing_anti_affinity: Tables

    @property
    def may_be_first(self) -> bool:
        """Whether no placed pod meets the affinity terms, and the pod itself does: it may then found its group."""
        return self.terms.matches_itself and not any(table.any() for table in self.affinity.values())


class Attraction(Struct, frozen=True, eq=False):
    """What each domain is worth, by topology key."""

    topology: Topology
    weights: Tables


class InterPodAffinity(PreFilterPlugin[RequiredState], FilterPlugin[RequiredState], ScorePlugin[Attraction]):
    """Filters by required terms of the pod and of placed pods, and scores by preferred ones."""

    default_weight: ClassVar[int] = 2
    without_pre_filter: ClassVar[str] = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    hard_pod_affinity_weight: Annotated[int, Field(ge=0, le=100)] = 1
    """What a placed pod's required affinity term that matches the pod is worth in the score."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Leave the score out for pods that prefer nothing themselves."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[RequiredState]:
        """Sum the pods that the terms speak of; SKIP where no term applies."""
        affinity = pod.shape.pod_affinity
        against = snapshot.carried(CarriedKind.REQUIRED_ANTI_AFFINITY, pod.shape)
        if not (against or affinity.required_affinity or affinity.required_anti_affinity):
            return PreFilterResult(SKIP)
        existing = _Sums(self._topology(pod.shape, snapshot), snapshot)
        for carried in against:
            existing.add(carried.term.topology_key, carried.counts)
        if not (existing.tables or affinity.required_affinity or affinity.required_anti_affinity):
            return PreFilterResult(SKIP)
        terms = self._terms(pod.shape, snapshot)
        near = _Sums(existing.topology, snapshot)
        for key in terms.affinity_keys:
            near.add(key, snapshot.counted(terms.affinity))
        away = _Sums(existing.topology, snapshot)
        for term in terms.anti_affinity:
            away.add(term.topology_key, snapshot.counted(term.counted))
        return PreFilterResult(state=RequiredState(terms, existing.topology, near.tables, away.tables, existing.tables))

    def add_pod(self, state: RequiredState, pod: Pod, other: Pod, nodes: Snapshot) -> RequiredState:
        """Count `other` in the domains of the node."""
        return _adjusted(state, pod, other, _OneNode(nodes, 1))

    def remove_pod(self, state: RequiredState, pod: Pod, other: Pod, nodes: Snapshot) -> RequiredState:
        """Count `other` out of the domains of the node."""
        return _adjusted(state, pod, other, _OneNode(nodes, -1))

    def filter(self, state: RequiredState, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose domains have the pods wanted, and none that is not wanted or does not want the pod."""
        del pod
        near = _near_enough(state, nodes)
        away = _clear_of(state.anti_affinity, state.topology, nodes)
        existing = _clear_of(state.existing_anti_affinity, state.topology, nodes)

        def rejections() -> Sequence[Rejection]:
            return (
                Rejection(~near, AFFINITY_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(near & ~away, ANTI_AFFINITY_REASON),
                Rejection(near & away & ~existing, EXISTING_ANTI_AFFINITY_REASON),
            )

        return FilterResult(near & away & existing, rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[Attraction]:
        """Weigh the domains; SKIP where no placed pod attracts or repels."""
        affinity = pod.shape.pod_affinity
        has_preferences = bool(affinity.preferred_affinity or affinity.preferred_anti_affinity)
        if self.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return PreScoreResult(SKIP)
        cluster = nodes.cluster
        weighted = list(self._weighted_counts(pod, cluster, has_preferences=has_preferences))
        if not weighted:
            return PreScoreResult(SKIP)
        sums = _Sums(self._topology(pod.shape, cluster), cluster)
        for key, weight, counts in weighted:
            sums.add(key, counts, weight)
        return PreScoreResult(state=Attraction(sums.topology, sums.tables)) if sums.tables else PreScoreResult(SKIP)

    def score(self, state: Attraction, pod: Pod, nodes: Snapshot) -> IntArray:
        """Sum the weights of a node's domains; the result may be negative."""
        del pod
        scores = np.zeros(nodes.size, np.int64)
        for key, weights in state.weights.items():
            scores += state.topology.domains(key, nodes).spread(weights, nodes)
        return scores

    def normalize(self, state: Attraction, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Stretch the scores over 0..MAX_NODE_SCORE; all 0 where they are equal. Computed in floats, as upstream."""
        del state, pod, nodes
        low, high = scores.min(), scores.max()
        if low == high:
            return np.zeros_like(scores)
        stretched: IntArray = (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)
        return stretched

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether the event can bring a pod that is wanted near, or take away one that is not."""
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
        """Yield topology key, weight and counts by node of every term that plays a part."""
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


class _Sums:
    """Tables that are being summed up; a key enters only once one of its domains has a pod."""

    def __init__(self, topology: Topology, cluster: Snapshot) -> None:
        self.topology = topology
        self.tables: dict[str, IntArray] = {}
        self._cluster = cluster

    def add(self, key: str, counts: IntArray, weight: int = 1) -> None:
        """Add counts by node, each pod worth `weight`."""
        if not counts.any():
            return
        table = self.topology.domains(key, self._cluster).sums(counts)
        if not table.any():
            return
        if weight != 1:
            table *= weight
        if key in self.tables:
            table += self.tables[key]
        self.tables[key] = table


def _near_enough(state: RequiredState, nodes: Snapshot) -> BoolArray:
    """Whether a node has all keys of the affinity terms, and its domains the pods wanted."""
    near = np.ones(nodes.size, np.bool_)
    keys = state.terms.affinity_keys
    may_be_first = bool(keys) and state.may_be_first
    for key in keys:
        if may_be_first:
            near &= nodes.label(key).ids != ABSENT
        elif key in state.affinity:
            near &= state.topology.domains(key, nodes).spread(state.affinity[key] > 0, nodes)
        else:
            near[:] = False
    return near


def _clear_of(tables: Tables, topology: Topology, nodes: Snapshot) -> BoolArray:
    """Whether none of a node's domains has such a pod; nodes without a key are in no domain of it."""
    clear = np.ones(nodes.size, np.bool_)
    for key, table in tables.items():
        clear &= topology.domains(key, nodes).spread(table <= 0, nodes)
    return clear


@dataclass(frozen=True, slots=True)
class _OneNode:
    """The one node of a what-if, and whether a pod comes (1) or goes (-1)."""

    nodes: Snapshot
    change: int

    def applied(self, tables: Tables, keys: Iterable[str], topology: Topology) -> Tables:
        """Return the tables with the change made once for each key that the node has."""
        changed = dict(tables)
        for key in keys:
            domains = topology.domains(key, self.nodes)
            domain = self.nodes.gather(domains.ids)[0]
            if domain != ABSENT:
                table = changed[key].copy() if key in changed else np.zeros(domains.size + 1, np.int64)
                table[domain] += self.change
                changed[key] = table
        return changed


def _adjusted(state: RequiredState, pod: Pod, other: Pod, node: _OneNode) -> RequiredState:
    """Return the state with `other` come to the node, or gone from it."""
    terms = state.terms
    namespaces = node.nodes.namespaces
    against = [
        term.topology_key
        for term in other.shape.pod_affinity.required_anti_affinity
        if CarriedTerm(CarriedKind.REQUIRED_ANTI_AFFINITY, term).matches(pod.shape, namespaces)
    ]
    near = terms.affinity_keys if terms.affinity_keys and terms.affinity.matches(other) else ()
    away = [term.topology_key for term in terms.anti_affinity if term.counted.matches(other)]
    if not (against or near or away):
        return state
    return replace(
        state,
        affinity=node.applied(state.affinity, near, state.topology),
        anti_affinity=node.applied(state.anti_affinity, away, state.topology),
        existing_anti_affinity=node.applied(state.existing_anti_affinity, against, state.topology),
    )
