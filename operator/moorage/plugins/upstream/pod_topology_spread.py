"""PodTopologySpread: pods of a kind are spread over zones, hosts or other domains.

DoNotSchedule constraints filter by skew, ScheduleAnyway constraints score. A pod without constraints gets the default
ones, for the peers that its Services and its controller select.

Upstream: `pkg/scheduler/framework/plugins/podtopologyspread`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from pydantic import model_validator

from moorage.cluster.arrays import ABSENT
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
from moorage.plugins.shared.default_selector import SELECTING_KINDS, default_selector
from moorage.plugins.shared.spread_defaults import HOSTNAME, SYSTEM_DEFAULTS, DefaultConstraint
from moorage.plugins.shared.spread_domains import (
    SpreadCounts,
    SpreadDomains,
    having_keys,
    may_be_used,
    resolve,
    resolve_one,
)
from moorage.plugins.shared.spread_hints import node_may_help, pod_may_help
from moorage.plugins.shared.topology_domains import TopologyDomains

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.affinity import TopologySpreadConstraint
    from moorage.model.pods.pod import Pod, PodShape

MISSING_LABEL_REASON = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEW_REASON = "node(s) didn't match pod topology spread constraints"

FloatArray = npt.NDArray[np.float64]

_FilterState = tuple[SpreadCounts, ...]
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Constraints:
    """The constraints of a shape, own or default, resolved against the nodes as they are."""

    hard: tuple[SpreadDomains, ...]
    soft: tuple[SpreadDomains, ...]
    all_keys: bool
    """Whether nodes that lack a topology key of a soft constraint are left out of the score."""


class _ScoreState(Struct, frozen=True, eq=False):
    raw: FloatArray
    """The score by node of the view, before it is rounded; the fewer pods, the lower."""
    ignored: BoolArray | None
    """Nodes that lack a topology key and score 0; None where there is none."""


class PodTopologySpread(PreFilterPlugin[_FilterState], FilterPlugin[_FilterState], ScorePlugin[_ScoreState]):
    """Filters by the skew that hard constraints allow, and scores by the evenness that soft ones ask for."""

    default_weight: ClassVar[int] = 2
    without_pre_filter: ClassVar[str] = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
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

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip where no constraint is hard, neither of the pod's own nor, where it has none, of the default ones."""
        return not any(each.when_unsatisfiable == "DoNotSchedule" for each in self._possible(shape))

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

    def filter(self, state: _FilterState, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes in whose domains one more pod keeps within maxSkew; the first constraint that fails decides."""
        del pod
        fits = [spread.resolved.domains.spread(spread.fits(), nodes) for spread in state]

        def rejections() -> Sequence[Rejection]:
            undecided = np.ones(nodes.size, np.bool_)
            missing = np.zeros(nodes.size, np.bool_)
            skewed = np.zeros(nodes.size, np.bool_)
            for spread, fitting in zip(state, fits, strict=True):
                outside = nodes.gather(spread.resolved.domains.ids) == ABSENT
                missing |= undecided & outside
                skewed |= undecided & ~fitting & ~outside
                undecided &= fitting
            return (
                Rejection(missing, MISSING_LABEL_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(skewed, SKEW_REASON),
            )

        return FilterResult(np.logical_and.reduce(fits), rejections)

    def skips_score(self, shape: PodShape) -> bool:
        """Skip where no constraint is soft."""
        return not any(each.when_unsatisfiable == "ScheduleAnyway" for each in self._possible(shape))

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[_ScoreState]:
        """Count pods by domain for each soft constraint; SKIP without one."""
        constraints = self._constraints(pod.shape, nodes.cluster)
        soft = constraints.soft
        if not soft:
            return PreScoreResult(SKIP)
        ignored = None
        if constraints.all_keys and not all(each.domains.complete for each in soft):
            having = having_keys((each.constraint.topology_key for each in soft), nodes)
            ignored = None if having.all() else ~having
        raw = np.zeros(nodes.size, np.float64)
        for each in soft:
            scores = _scored(each, nodes, ignored)
            raw += scores if constraints.all_keys else _where_labelled(each.constraint.topology_key, scores, nodes)
        return PreScoreResult(state=_ScoreState(raw, ignored))

    def score(self, state: _ScoreState, pod: Pod, nodes: Snapshot) -> IntArray:
        """Round the scores, half a point up, as Go's math.Round does with what is not negative."""
        del pod, nodes
        whole = state.raw.astype(np.int64)
        rounded = whole + (state.raw - whole >= _HALF)
        return rounded if state.ignored is None else np.where(state.ignored, 0, rounded)

    def normalize(self, state: _ScoreState, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Turn the scores around, between the lowest and the highest of the nodes that are not ignored."""
        del pod, nodes
        considered = scores if state.ignored is None else scores[~state.ignored]
        if not considered.size:
            return np.zeros_like(scores)
        low, high = int(considered.min()), int(considered.max())
        turned = MAX_NODE_SCORE * (high + low - scores) // high if high else np.full_like(scores, MAX_NODE_SCORE)
        return turned if state.ignored is None else np.where(state.ignored, 0, turned)

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
        sources = () if shape.spread_constraints else cluster.object_generation(*SELECTING_KINDS)
        generation = (cluster.generations.nodes, sources)
        return cluster.memo(self, shape, generation, lambda: self._resolved(shape, cluster))

    def _resolved(self, shape: PodShape, cluster: Snapshot) -> _Constraints:
        constraints = shape.spread_constraints or self._defaults(shape, cluster)
        hard = [each for each in constraints if each.when_unsatisfiable == "DoNotSchedule"]
        soft = [each for each in constraints if each.when_unsatisfiable == "ScheduleAnyway"]
        # Hosts are spread over by kube-scheduler's own defaults even where nodes have no zone.
        all_keys = bool(shape.spread_constraints) or self.defaulting_type == "List"
        return _Constraints(
            hard=resolve(hard, shape, cluster),
            soft=resolve(soft, shape, cluster) if all_keys else _resolve_lenient(soft, shape, cluster),
            all_keys=all_keys,
        )

    def _possible(self, shape: PodShape) -> Sequence[TopologySpreadConstraint]:
        """Return the pod's own constraints, or the default ones, which a pod that nothing selects does without."""
        if shape.spread_constraints:
            return shape.spread_constraints
        return SYSTEM_DEFAULTS if self.defaulting_type == "System" else self._listed

    @cached_property
    def _listed(self) -> tuple[TopologySpreadConstraint, ...]:
        return tuple(each.digest() for each in self.default_constraints)

    def _defaults(self, shape: PodShape, cluster: Snapshot) -> Sequence[TopologySpreadConstraint]:
        defaults = self._possible(shape)
        if not defaults:
            return ()
        selector = default_selector(shape, cluster)
        return () if selector.is_empty else [replace(each, selector=selector) for each in defaults]


def _changed(state: _FilterState, pod: Pod, other: Pod, nodes: Snapshot, change: int) -> _FilterState:
    if other.namespace != pod.namespace:
        return state
    return tuple(spread.changed(other, nodes, change) for spread in state)


def _resolve_lenient(
    constraints: Sequence[TopologySpreadConstraint], shape: PodShape, cluster: Snapshot
) -> tuple[SpreadDomains, ...]:
    """Resolve constraints for which nodes without a topology key are a domain of their own, that of the empty value."""
    return tuple(
        resolve_one(each, shape, _with_rest(each.topology_key, cluster), may_be_used(each, shape, cluster))
        for each in constraints
    )


def _with_rest(key: str, cluster: Snapshot) -> TopologyDomains:
    column = cluster.label(key)
    rest = column.values.index("") if "" in column.values else len(column.values)
    ids = np.where(column.ids == ABSENT, np.int32(rest), column.ids)
    return TopologyDomains(ids, len(column.values) + 1, singles=False, complete=True)


def _scored(resolved: SpreadDomains, nodes: Snapshot, ignored: BoolArray | None) -> FloatArray:
    """Weigh the pods of each node's domain by how many domains the nodes of the view are in."""
    constraint = resolved.constraint
    evenness = constraint.max_skew - 1  # evens out differences that are not larger
    if constraint.topology_key == HOSTNAME:
        counts = np.zeros(nodes.size, np.int64) if resolved.counted is None else nodes.counted(resolved.counted)
        size = nodes.size - (0 if ignored is None else int(np.count_nonzero(ignored)))
        return np.multiply(counts, _weight(size), dtype=np.float64) + evenness
    ids = nodes.gather(resolved.domains.ids)
    size = int(np.count_nonzero(np.bincount(ids if ignored is None else ids[~ignored])))
    table = np.multiply(resolved.count(nodes.cluster), _weight(size), dtype=np.float64) + evenness
    return table.take(ids)


def _where_labelled(key: str, scores: FloatArray, nodes: Snapshot) -> FloatArray:
    """Keep the scores of nodes that have the label."""
    return np.where(nodes.label(key).ids != ABSENT, scores, 0.0)


def _weight(domains: int) -> float:
    """Weigh a topology by how many domains it has, lest the pods of large domains drown those of small ones."""
    return math.log(domains + 2)
