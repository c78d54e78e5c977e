"""PodTopologySpread: spreads similar pods over zones, hosts or other domains.

DoNotSchedule (hard) constraints filter nodes by skew. ScheduleAnyway (soft) constraints score nodes. A pod without
constraints gets the default constraints, whose selector comes from the pod's Services and controller.

Upstream: `pkg/scheduler/framework/plugins/podtopologyspread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from moorage.api.base import raise_errors, rule_error
from moorage.cluster.arrays import ABSENT
from moorage.framework.extension_points import (
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
from moorage.plugins.shared.spread_defaults import SYSTEM_DEFAULTS, DefaultConstraint
from moorage.plugins.shared.spread_domains import SpreadCounts, SpreadDomains, resolve, resolve_lenient
from moorage.plugins.shared.spread_hints import node_may_help, pod_may_help
from moorage.plugins.shared.spread_scoring import SpreadScores, spread_scores

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.affinity import TopologySpreadConstraint
    from moorage.model.pods.pod import Pod, PodShape

MISSING_LABEL_REASON = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEW_REASON = "node(s) didn't match pod topology spread constraints"

HardCounts = tuple[SpreadCounts, ...]
"""The counts of each DoNotSchedule constraint."""


@dataclass(frozen=True, slots=True)
class ResolvedConstraints:
    """The constraints of a shape, or the default constraints, resolved against the current nodes."""

    hard: tuple[SpreadDomains, ...]
    soft: tuple[SpreadDomains, ...]
    all_keys: bool
    """Whether nodes that lack a topology key of a soft constraint score 0."""


class PodTopologySpread(PreFilterPlugin[HardCounts], FilterPlugin[HardCounts], ScorePlugin[SpreadScores]):
    """Filters nodes by DoNotSchedule spread constraints, and scores nodes by ScheduleAnyway spread constraints."""

    default_weight: ClassVar[int] = 2
    without_pre_filter: ClassVar[str] = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    default_constraints: tuple[DefaultConstraint, ...] = ()
    """Constraints for pods without constraints of their own; allowed only with `defaultingType: List`."""
    defaulting_type: Literal["System", "List"] = "System"
    """System uses kube-scheduler's own default constraints, List uses `defaultConstraints`."""

    @model_validator(mode="after")
    def _check_defaults(self) -> Self:
        errors = []
        if self.defaulting_type == "System" and self.default_constraints:
            errors = [rule_error("must be List when defaultConstraints are not empty", "defaultingType")]
        pairs = [(each.topology_key, each.when_unsatisfiable) for each in self.default_constraints]
        errors += [
            rule_error("must not repeat a pair of topologyKey and whenUnsatisfiable", "defaultConstraints", index)
            for index, pair in enumerate(pairs)
            if pair in pairs[:index]
        ]
        raise_errors(type(self), errors)
        return self

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether no DoNotSchedule constraint applies to pods of the shape."""
        return not any(each.when_unsatisfiable == "DoNotSchedule" for each in self._candidates(shape))

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[HardCounts]:
        """Count pods by domain for each hard constraint; SKIP if the pod has no hard constraint."""
        hard = self._constraints(pod.shape, snapshot).hard
        if not hard:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=tuple(SpreadCounts(domains, domains.count(snapshot)) for domains in hard))

    def add_pod(self, state: HardCounts, pod: Pod, other: Pod, nodes: Snapshot) -> HardCounts:
        """Add `other` to the counts of the node's domains."""
        return _changed(state, pod, other, nodes, 1)

    def remove_pod(self, state: HardCounts, pod: Pod, other: Pod, nodes: Snapshot) -> HardCounts:
        """Subtract `other` from the counts of the node's domains."""
        return _changed(state, pod, other, nodes, -1)

    def filter(self, state: HardCounts, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose domains respect maxSkew after one more pod. Report the first constraint that fails."""
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
        """Return whether no ScheduleAnyway constraint applies to pods of the shape."""
        return not any(each.when_unsatisfiable == "ScheduleAnyway" for each in self._candidates(shape))

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[SpreadScores]:
        """Score the nodes by each soft constraint; SKIP if the pod has no soft constraint."""
        constraints = self._constraints(pod.shape, nodes.cluster)
        if not constraints.soft:
            return PreScoreResult(SKIP)
        return PreScoreResult(state=spread_scores(constraints.soft, nodes, all_keys=constraints.all_keys))

    def score(self, state: SpreadScores, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return the rounded scores."""
        del pod, nodes
        return state.rounded()

    def normalize(self, state: SpreadScores, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Reverse the scores, so that nodes in domains with fewer pods score higher."""
        del pod, nodes
        return state.normalized(scores)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the event changes the counts or the domains of the pod's hard constraints."""
        own = pod.shape.spread_constraints
        if not own:
            return True  # a hint cannot read the objects that give default constraints their selector
        hard = [constraint for constraint in own if constraint.when_unsatisfiable == "DoNotSchedule"]
        if event.kind == "Node":
            return node_may_help(hard, event.old, event.new)
        return pod_may_help(pod, hard, event.old, event.new)

    def _constraints(self, shape: PodShape, cluster: Snapshot) -> ResolvedConstraints:
        sources = () if shape.spread_constraints else cluster.object_generation(*SELECTING_KINDS)
        generation = (cluster.generations.nodes, sources)
        return cluster.memo(self, shape, generation, lambda: self._resolve(shape, cluster))

    def _resolve(self, shape: PodShape, cluster: Snapshot) -> ResolvedConstraints:
        constraints = shape.spread_constraints or self._defaults(shape, cluster)
        hard = [each for each in constraints if each.when_unsatisfiable == "DoNotSchedule"]
        soft = [each for each in constraints if each.when_unsatisfiable == "ScheduleAnyway"]
        # kube-scheduler's own defaults spread over hosts even if nodes have no zone.
        all_keys = bool(shape.spread_constraints) or self.defaulting_type == "List"
        return ResolvedConstraints(
            hard=resolve(hard, shape, cluster),
            soft=resolve(soft, shape, cluster) if all_keys else resolve_lenient(soft, shape, cluster),
            all_keys=all_keys,
        )

    def _candidates(self, shape: PodShape) -> Sequence[TopologySpreadConstraint]:
        """Return the constraints of the pod, or the default constraints if the pod has none."""
        if shape.spread_constraints:
            return shape.spread_constraints
        return SYSTEM_DEFAULTS if self.defaulting_type == "System" else self._default_list

    @cached_property
    def _default_list(self) -> tuple[TopologySpreadConstraint, ...]:
        return tuple(each.decode() for each in self.default_constraints)

    def _defaults(self, shape: PodShape, cluster: Snapshot) -> Sequence[TopologySpreadConstraint]:
        """Return default constraints with the pod's selector; none if no Service or controller selects the pod."""
        defaults = self._candidates(shape)
        if not defaults:
            return ()
        selector = default_selector(shape, cluster)
        return () if selector.is_empty else [replace(each, selector=selector) for each in defaults]


def _changed(state: HardCounts, pod: Pod, other: Pod, nodes: Snapshot, change: int) -> HardCounts:
    if other.namespace != pod.namespace:
        return state
    return tuple(spread.changed(other, nodes, change) for spread in state)
