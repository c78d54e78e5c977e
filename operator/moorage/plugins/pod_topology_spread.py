"""PodTopologySpread: pods of a kind are spread over zones, hosts or other domains.

DoNotSchedule constraints filter by skew, ScheduleAnyway constraints score. A pod without constraints gets the default
ones, for the peers that its Services and its controller select.

Upstream: `pkg/scheduler/framework/plugins/podtopologyspread`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from moorage.framework.arrays import ABSENT
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
from moorage.plugins.default_selector import default_selector
from moorage.plugins.spread_defaults import HOSTNAME, SYSTEM_DEFAULTS, DefaultConstraint
from moorage.plugins.spread_domains import SpreadCounts, SpreadDomains, domain_ids, having_keys, resolve
from moorage.plugins.spread_hints import node_may_help, pod_may_help

if TYPE_CHECKING:
    from moorage.framework.arrays import BoolArray, IntArray
    from moorage.framework.events import ClusterEvent
    from moorage.framework.snapshot import Snapshot
    from moorage.model.affinity import TopologySpreadConstraint
    from moorage.model.pod import Pod, PodShape

MISSING_LABEL_REASON = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEW_REASON = "node(s) didn't match pod topology spread constraints"

_FilterState = tuple[SpreadCounts, ...]


@dataclass(frozen=True, slots=True)
class _Constraints:
    """The constraints of a shape, own or default, resolved against the nodes as they are."""

    hard: tuple[SpreadDomains, ...]
    soft: tuple[SpreadDomains, ...]
    all_keys: bool
    """Whether nodes that lack a topology key of a soft constraint are left out of the score."""


@dataclass(frozen=True, slots=True)
class _ScoredConstraint:
    """A soft constraint in one decision: how many pods each node's domain has, and what one of them weighs."""

    topology_key: str
    counts: IntArray
    """By node of the view."""
    weight: float
    tolerance: int
    """maxSkew - 1, which evens out small differences."""


@dataclass(frozen=True, slots=True)
class _ScoreState:
    constraints: tuple[_ScoredConstraint, ...]
    ignored: BoolArray
    """Nodes that lack a topology key; they score 0."""


class PodTopologySpread(PreFilterPlugin[_FilterState], FilterPlugin[_FilterState], ScorePlugin[_ScoreState]):
    """Filters by the skew that hard constraints allow, and scores by the evenness that soft ones ask for."""

    default_weight: ClassVar[int] = 2
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    default_constraints: tuple[DefaultConstraint, ...] = ()
    """Constraints for pods that state none; only with `defaultingType: List`."""
    defaulting_type: Literal["System", "List"] = "System"
    """Whether kube-scheduler's own defaults are used, or the list above."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.defaulting_type == "System" and self.default_constraints:
            raise ValueError("defaultingType must be List when defaultConstraints are not empty")
        pairs = [(each.topology_key, each.when_unsatisfiable) for each in self.default_constraints]
        if len(set(pairs)) < len(pairs):
            raise ValueError("defaultConstraints must not repeat a pair of topologyKey and whenUnsatisfiable")
        return self

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[_FilterState]:
        """Count pods by domain for each hard constraint; SKIP without one."""
        hard = self._constraints(pod.shape, snapshot).hard
        if not hard:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=tuple(SpreadCounts(domains, domains.count(snapshot)) for domains in hard))

    def add_pod(self, state: _FilterState, pod: Pod, other: Pod, nodes: Snapshot) -> _FilterState:
        """Count `other` in the domains of the node."""
        return _changed(state, pod, other, nodes, 1)

    def remove_pod(self, state: _FilterState, pod: Pod, other: Pod, nodes: Snapshot) -> _FilterState:
        """Count `other` out of the domains of the node."""
        return _changed(state, pod, other, nodes, -1)

    def filter(self, state: _FilterState, pod: Pod, nodes: Snapshot) -> Verdict:
        """Pass nodes in whose domains one more pod keeps within maxSkew; the first constraint that fails decides."""
        del pod
        ids = [nodes.label(spread.domains.constraint.topology_key).ids for spread in state]
        fits = [spread.fits()[domains] for spread, domains in zip(state, ids, strict=True)]

        def rejections() -> Sequence[Rejection]:
            undecided = np.ones(nodes.size, np.bool_)
            missing = np.zeros(nodes.size, np.bool_)
            skewed = np.zeros(nodes.size, np.bool_)
            for domains, fitting in zip(ids, fits, strict=True):
                missing |= undecided & (domains == ABSENT)
                skewed |= undecided & ~fitting & (domains != ABSENT)
                undecided &= fitting
            return (
                Rejection(missing, MISSING_LABEL_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(skewed, SKEW_REASON),
            )

        return Verdict(np.logical_and.reduce(fits), rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[_ScoreState]:
        """Count pods by domain for each soft constraint; SKIP without one."""
        constraints = self._constraints(pod.shape, nodes.cluster)
        soft = constraints.soft
        if not soft:
            return PreScoreResult(SKIP)
        if constraints.all_keys:
            ignored = ~having_keys((each.constraint.topology_key for each in soft), nodes)
        else:
            ignored = np.zeros(nodes.size, np.bool_)
        return PreScoreResult(state=_ScoreState(tuple(_scored(each, nodes, ignored) for each in soft), ignored))

    def score(self, state: _ScoreState, pod: Pod, nodes: Snapshot) -> IntArray:
        """Weigh the pods of a node's domains; the fewer, the better."""
        del pod
        total = np.zeros(nodes.size, np.float64)
        for each in state.constraints:
            present = nodes.label(each.topology_key).ids != ABSENT
            total += np.where(present, each.counts * each.weight + each.tolerance, 0.0)
        total[state.ignored] = 0.0
        # Half a point is rounded up, as Go's math.Round does with what is not negative.
        whole = np.floor(total)
        return (whole + (total - whole >= 0.5)).astype(np.int64)  # noqa: PLR2004

    def normalize(self, state: _ScoreState, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Turn the scores around, between the lowest and the highest of the nodes that are not ignored."""
        del pod, nodes
        considered = scores[~state.ignored]
        if not considered.size:
            return np.zeros_like(scores)
        low, high = int(considered.min()), int(considered.max())
        turned = MAX_NODE_SCORE * (high + low - scores) // high if high else np.full_like(scores, MAX_NODE_SCORE)
        return np.where(state.ignored, 0, turned)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether the event changes the counts, or the domains, of the pod's hard constraints."""
        own = pod.shape.spread_constraints
        if not own:
            return True  # the selector of default constraints depends on objects that a hint cannot see
        hard = [constraint for constraint in own if constraint.when_unsatisfiable == "DoNotSchedule"]
        if event.kind == "Node":
            return node_may_help(hard, event.old, event.new)
        return pod_may_help(pod, hard, event.old, event.new)

    def _constraints(self, shape: PodShape, cluster: Snapshot) -> _Constraints:
        generations = cluster.generations
        generation = (generations.nodes, 0 if shape.spread_constraints else generations.objects)
        return cluster.memo(self, shape, generation, lambda: self._resolved(shape, cluster))

    def _resolved(self, shape: PodShape, cluster: Snapshot) -> _Constraints:
        constraints = shape.spread_constraints or self._defaults(shape, cluster)
        hard = [each for each in constraints if each.when_unsatisfiable == "DoNotSchedule"]
        soft = [each for each in constraints if each.when_unsatisfiable == "ScheduleAnyway"]
        # Hosts are spread over by kube-scheduler's own defaults even where nodes have no zone.
        all_keys = bool(shape.spread_constraints) or self.defaulting_type == "List"
        return _Constraints(
            hard=resolve(hard, shape, cluster, all_keys=True),
            soft=resolve(soft, shape, cluster, all_keys=all_keys),
            all_keys=all_keys,
        )

    def _defaults(self, shape: PodShape, cluster: Snapshot) -> Sequence[TopologySpreadConstraint]:
        system = self.defaulting_type == "System"
        defaults = SYSTEM_DEFAULTS if system else tuple(each.digest() for each in self.default_constraints)
        if not defaults:
            return ()
        selector = default_selector(shape, cluster)
        return () if selector.is_empty else [replace(each, selector=selector) for each in defaults]


def _changed(state: _FilterState, pod: Pod, other: Pod, nodes: Snapshot, change: int) -> _FilterState:
    if other.namespace != pod.namespace:
        return state
    return tuple(spread.changed(other, nodes, change) for spread in state)


def _scored(domains: SpreadDomains, nodes: Snapshot, ignored: BoolArray) -> _ScoredConstraint:
    """Count for each node of the view, and weigh by how many domains these nodes are in."""
    constraint = domains.constraint
    if constraint.topology_key == HOSTNAME:
        counts = np.zeros(nodes.size, np.int64) if domains.counted is None else nodes.counted(domains.counted)
        size = nodes.size - int(np.count_nonzero(ignored))
    else:
        column = nodes.label(constraint.topology_key)
        ids = domain_ids(column.ids, column.values)
        counts = domains.count(nodes.cluster)[ids]
        size = np.count_nonzero(np.bincount(ids[~ignored]))
    # A weight that grows with the number of domains keeps small topologies from being watered down by large ones.
    return _ScoredConstraint(constraint.topology_key, counts, math.log(size + 2), constraint.max_skew - 1)
