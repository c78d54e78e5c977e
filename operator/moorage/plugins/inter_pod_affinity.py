"""InterPodAffinity: pods that want to run near other pods, or away from them.

A term is counted by node in the snapshot; here the counts are summed over the domains of its topology key. Placed pods
have their say as well: their required anti-affinity keeps a pod out, their other terms attract or repel it.

Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from moorage.framework.arrays import ABSENT
from moorage.framework.domains import sum_by_domain
from moorage.framework.events import Action
from moorage.framework.interface import (
    MAX_NODE_SCORE,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScoreResult,
    Rejection,
    ScorePlugin,
    Verdict,
)
from moorage.framework.status import SKIP, Code
from moorage.framework.terms import CarriedKind, CarriedTerm
from moorage.plugins.affinity_terms import IncomingTerms, resolve_terms

if TYPE_CHECKING:
    from moorage.framework.arrays import BoolArray, IntArray
    from moorage.framework.events import ClusterEvent
    from moorage.framework.snapshot import Snapshot
    from moorage.model.affinity import AffinityTerm
    from moorage.model.node import Node
    from moorage.model.pod import Pod, PodShape

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"

SumsByKey = Mapping[str, "IntArray"]
"""By topology key: a sum for each of the key's values, and a last one, 0, for nodes without the key (ABSENT)."""


@dataclass(frozen=True, slots=True)
class RequiredState:
    """What Filter needs: the pod's terms, and how many pods each domain has that they, or others' terms, speak of."""

    terms: IncomingTerms
    affinity: SumsByKey
    anti_affinity: SumsByKey
    existing_anti_affinity: SumsByKey

    @property
    def may_be_first(self) -> bool:
        """Whether no placed pod meets the affinity terms, and the pod itself does: it may then found its group."""
        return self.terms.matches_itself and not any(sums.any() for sums in self.affinity.values())


class InterPodAffinity(PreFilterPlugin[RequiredState], FilterPlugin[RequiredState], ScorePlugin[SumsByKey]):
    """Filters by required terms of the pod and of placed pods, and scores by preferred ones."""

    default_weight: ClassVar[int] = 2
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    hard_pod_affinity_weight: Annotated[int, Field(ge=0, le=100)] = 1
    """What a placed pod's required affinity term that matches the pod is worth in the score."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """Leave the score out for pods that prefer nothing themselves."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[RequiredState]:
        """Sum the pods that the terms speak of; SKIP where no term applies."""
        affinity = pod.shape.pod_affinity
        existing: dict[str, IntArray] = {}
        for carried in snapshot.carried(CarriedKind.REQUIRED_ANTI_AFFINITY, pod.shape):
            _add(existing, snapshot, carried.term.topology_key, carried.counts)
        if not (existing or affinity.required_affinity or affinity.required_anti_affinity):
            return PreFilterResult(SKIP)
        terms = self._terms(pod.shape, snapshot)
        near: dict[str, IntArray] = {}
        if terms.affinity_keys:
            counts = snapshot.counted(terms.affinity)
            for key in terms.affinity_keys:
                _add(near, snapshot, key, counts)
        away: dict[str, IntArray] = {}
        for term in terms.anti_affinity:
            _add(away, snapshot, term.topology_key, snapshot.counted(term.counted))
        return PreFilterResult(state=RequiredState(terms, near, away, existing))

    def add_pod(self, state: RequiredState, pod: Pod, other: Pod, nodes: Snapshot) -> RequiredState:
        """Count `other` in the domains of the node."""
        return _adjusted(state, pod, other, _OneNode(nodes, 1))

    def remove_pod(self, state: RequiredState, pod: Pod, other: Pod, nodes: Snapshot) -> RequiredState:
        """Count `other` out of the domains of the node."""
        return _adjusted(state, pod, other, _OneNode(nodes, -1))

    def filter(self, state: RequiredState, pod: Pod, nodes: Snapshot) -> Verdict:
        """Pass nodes whose domains have the pods wanted, and none that is not wanted or does not want the pod."""
        del pod
        near = _near_enough(state, nodes)
        away = _clear_of(state.anti_affinity, nodes)
        existing = _clear_of(state.existing_anti_affinity, nodes)

        def rejections() -> Sequence[Rejection]:
            return (
                Rejection(~near, AFFINITY_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(near & ~away, ANTI_AFFINITY_REASON),
                Rejection(near & away & ~existing, EXISTING_ANTI_AFFINITY_REASON),
            )

        return Verdict(near & away & existing, rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[SumsByKey]:
        """Weigh the domains; SKIP where no placed pod attracts or repels."""
        affinity = pod.shape.pod_affinity
        has_preferences = bool(affinity.preferred_affinity or affinity.preferred_anti_affinity)
        if self.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return PreScoreResult(SKIP)
        cluster = nodes.cluster
        weights: dict[str, IntArray] = {}
        for key, weight, counts in self._weighted_counts(pod, cluster, has_preferences=has_preferences):
            _add(weights, cluster, key, counts, weight)
        return PreScoreResult(state=weights) if weights else PreScoreResult(SKIP)

    def score(self, state: SumsByKey, pod: Pod, nodes: Snapshot) -> IntArray:
        """Sum the weights of a node's domains; the result may be negative."""
        del pod
        scores = np.zeros(nodes.size, np.int64)
        for key, weights in state.items():
            scores += weights[nodes.label(key).ids]
        return scores

    def normalize(self, state: SumsByKey, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Stretch the scores over 0..MAX_NODE_SCORE; all 0 where they are equal. Computed in floats, as upstream."""
        del state, pod, nodes
        low, high = scores.min(), scores.max()
        if low == high:
            return np.zeros_like(scores)
        return (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether the event can bring a pod that is wanted near, or take away one that is not."""
        if event.kind == "Node":
            return _node_may_help(pod, event.old, event.new)
        return _pod_may_help(pod, event)

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


def _add(sums: dict[str, IntArray], cluster: Snapshot, key: str, counts: IntArray, weight: int = 1) -> None:
    """Add counts by node to the sums of a key, which enters only once some domain has a pod."""
    if not counts.any():
        return
    column = cluster.label(key)
    added = sum_by_domain(column.ids, counts, len(column.values) + 1)
    if not added.any():
        return
    if weight != 1:
        added = added * weight
    before = sums.get(key)
    sums[key] = added if before is None else before + added


def _near_enough(state: RequiredState, nodes: Snapshot) -> BoolArray:
    """Whether a node has all keys of the affinity terms, and its domains the pods wanted."""
    near = np.ones(nodes.size, np.bool_)
    keys = state.terms.affinity_keys
    may_be_first = bool(keys) and state.may_be_first
    for key in keys:
        ids = nodes.label(key).ids
        if may_be_first:
            near &= ids != ABSENT
        elif key in state.affinity:
            near &= (state.affinity[key] > 0)[ids]
        else:
            near[:] = False
    return near


def _clear_of(sums_by_key: SumsByKey, nodes: Snapshot) -> BoolArray:
    """Whether none of a node's domains has such a pod; nodes without a key are in no domain of it."""
    clear = np.ones(nodes.size, np.bool_)
    for key, sums in sums_by_key.items():
        clear &= (sums <= 0)[nodes.label(key).ids]
    return clear


@dataclass(frozen=True, slots=True)
class _OneNode:
    """The one node of a what-if, and whether a pod comes (1) or goes (-1)."""

    nodes: Snapshot
    change: int

    def applied(self, sums_by_key: SumsByKey, keys: Iterable[str]) -> SumsByKey:
        """Return the sums with the change made once for each key that the node has."""
        changed = dict(sums_by_key)
        for key in keys:
            column = self.nodes.label(key)
            domain = column.ids[0]
            if domain != ABSENT:
                sums = changed[key].copy() if key in changed else np.zeros(len(column.values) + 1, np.int64)
                sums[domain] += self.change
                changed[key] = sums
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
        affinity=node.applied(state.affinity, near),
        anti_affinity=node.applied(state.anti_affinity, away),
        existing_anti_affinity=node.applied(state.existing_anti_affinity, against),
    )


def _pod_may_help(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old, event.new
    if old is not None and new is not None and pod.uid == new.uid:
        return bool(old.labels != new.labels)
    if any(other is not None and not (other.node_name or other.nominated_node_name) for other in (old, new)):
        return False
    affinity = pod.shape.pod_affinity
    came_near = new is not None and _may_match_all(affinity.required_affinity, new)
    was_near = old is not None and _may_match_all(affinity.required_affinity, old)
    if event.action is not Action.DELETE and came_near and not was_near:
        return True
    left = old is not None and any(_may_match(term, old) for term in affinity.required_anti_affinity)
    stays = new is not None and all(_may_match(term, new) for term in affinity.required_anti_affinity)
    if left and not stays:
        return True
    return event.action is Action.DELETE and any(
        _may_match(term, pod) for term in old.shape.pod_affinity.required_anti_affinity
    )


def _may_match_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    return bool(terms) and all(_may_match(term, pod) for term in terms)


def _may_match(term: AffinityTerm, pod: Pod) -> bool:
    """Whether a term matches a pod; where a namespaceSelector decides, which no hint can look up, it may."""
    if pod.namespace not in term.namespaces and term.namespace_selector is None:
        return False
    return term.selector is not None and term.selector.matches(pod.labels)


def _node_may_help(pod: Pod, old: Node | None, new: Node | None) -> bool:
    """Whether a node came, or moved to a domain that the pod has not been measured against."""
    if new is None:
        return False
    affinity = pod.shape.pod_affinity
    if old is None:
        wanted = (term.topology_key in new.labels for term in affinity.required_affinity)
        return bool(affinity.required_anti_affinity) or any(wanted)
    keys = {term.topology_key for term in (*affinity.required_affinity, *affinity.required_anti_affinity)}
    return any(old.labels.get(key) != new.labels.get(key) for key in keys)
