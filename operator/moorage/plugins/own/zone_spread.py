"""ZoneSpread: spreads the pods of a workload or namespace over zones, without constraints in the pods.

The field `scope` selects the pods that count: all pods of the pod's workload, or all pods of its namespace. Assumed
pods count too, so that a burst of pods spreads as evenly as pods that arrive one by one.

With `spread: Prefer`, zones with fewer of these pods score higher. With `spread: Require`, the plugin also rejects a
zone that would have over `maxSkew` more of these pods than the emptiest zone. The policy's table of preferred zones is
part of the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from moorage.api.base import ListOf
from moorage.api.policy_scores import ZonesSection
from moorage.cluster.arrays import ABSENT
from moorage.cluster.terms.counted_terms import Clause, CountedTerm
from moorage.cluster.tolerations import tolerated, untolerated
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
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.status import SKIP, Code
from moorage.model.pods.affinity import TopologySpreadConstraint
from moorage.model.selectors import LabelSelector, Requirement
from moorage.plugins.shared.score_tables import TABLE_UNIT
from moorage.plugins.shared.spread_defaults import ZONE
from moorage.plugins.shared.spread_domains import SpreadCounts, SpreadDomains, included_nodes
from moorage.plugins.shared.topology_domains import TopologyDomains
from moorage.plugins.upstream.node_unschedulable import UNSCHEDULABLE_TAINT
from moorage.plugins.upstream.pod_topology_spread import MISSING_LABEL_REASON, SKEW_REASON

if TYPE_CHECKING:
    from moorage.api.policy_filters import FiltersSection
    from moorage.api.policy_spec import SchedulingPolicySpec
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.node import Taint
    from moorage.model.pods.pod import Pod, PodShape

FILTER_FIELD = "zones.spread"
REVISION_LABELS = ("pod-template-hash", "controller-revision-hash")
"""The labels that hold a pod's revision: the first for Deployments, the second for StatefulSets and DaemonSets."""


@dataclass(frozen=True, slots=True, eq=False)
class ZoneScores:
    """The scores of the nodes of the view, by spreading and by the policy's table. One of the two may be None."""

    spreading: IntArray | None
    table: IntArray | None


class ZoneSpread(
    PolicyPlugin, PreFilterPlugin[SpreadCounts], FilterPlugin[SpreadCounts], ScorePlugin[ZoneScores], ZonesSection
):
    """Spreads the pods of a workload or a namespace over zones."""

    policy_section = "zones"
    default_weight: ClassVar[int] = 2
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    allow: Annotated[tuple[str, ...], ListOf] = ()
    """Zones that the policy's filters allow; empty if all are allowed. Other zones do not count for maxSkew."""
    deny: Annotated[tuple[str, ...], ListOf] = ()
    """Zones that the policy's filters deny."""

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the allowed and the denied zones."""
        zones = filters.zones
        return {} if zones is None else {"allow": list(zones.allow), "deny": list(zones.deny)}

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether the policy requires the spread."""
        return spec.zones is not None and spec.zones.spread == "Require"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[SpreadCounts]:
        """Count the pods of the scope in each zone; SKIP if `spread` is not Require or the pod has no scope."""
        domains = self._domains(pod.shape, snapshot) if self.spread == "Require" else None
        if domains is None:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=SpreadCounts(domains, domains.count(snapshot)))

    def add_pod(self, state: SpreadCounts, pod: Pod, other: Pod, nodes: Snapshot) -> SpreadCounts:
        """Add `other` to the count of the node's zone."""
        del pod
        return state.shifted(nodes, 1) if _counts(state, other) else state

    def remove_pod(self, state: SpreadCounts, pod: Pod, other: Pod, nodes: Snapshot) -> SpreadCounts:
        """Subtract `other` from the count of the node's zone."""
        del pod
        return state.shifted(nodes, -1) if _counts(state, other) else state

    def filter(self, state: SpreadCounts, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose zone respects maxSkew after one more pod."""
        del pod
        passed = state.resolved.domains.spread(state.fits(), nodes)

        def rejections() -> Sequence[Rejection]:
            outside = nodes.label(ZONE).ids == ABSENT
            return (
                Rejection(outside, MISSING_LABEL_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, FILTER_FIELD),
                Rejection(~passed & ~outside, SKEW_REASON, cause=FILTER_FIELD),
            )

        return FilterResult(passed, rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[ZoneScores]:
        """Score the zones of the nodes that fit; SKIP if the pod has no scope and the policy has no table."""
        resolved = self._domains(pod.shape, nodes.cluster) if self.spread != "Ignore" else None
        if resolved is None and not self.prefer:
            return PreScoreResult(SKIP)
        spreading = table = None
        if resolved is not None:
            spreading = _spreading_scores(resolved, nodes)
        if self.prefer:
            zones = nodes.label(ZONE)
            points = [self.prefer.get(zone, 0) for zone in zones.values]
            table = np.array([*points, 0], np.int64).take(zones.ids) * TABLE_UNIT
        return PreScoreResult(state=ZoneScores(spreading, table))

    def score(self, state: ZoneScores, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return the mean of the spreading score and the table score; 0 for nodes without a zone."""
        del pod, nodes
        parts = [part for part in (state.spreading, state.table) if part is not None]
        total: IntArray = np.sum(parts, axis=0)
        return total // len(parts)

    def _domains(self, shape: PodShape, cluster: Snapshot) -> SpreadDomains | None:
        """Return the zones, and the term that counts pods in each; None if the pod has no scope."""
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._resolve(shape, cluster))

    def _scope(self, shape: PodShape) -> CountedTerm | None:
        """Return the term that counts the pods of the scope; None if the scope is Workload and the pod has no owner."""
        if self.scope == "Namespace":
            clause = Clause(frozenset((shape.namespace,)), LabelSelector())
        elif shape.owner is None:
            return None
        else:
            clause = Clause(frozenset((shape.namespace,)), _revision(shape), owner_uid=shape.owner.uid)
        return CountedTerm((clause,), counts_terminating=False)

    def _resolve(self, shape: PodShape, cluster: Snapshot) -> SpreadDomains | None:
        """Return all zones; only the zones that the pod may use (affinity, taints, filters) count for the minimum."""
        counted = self._scope(shape)
        if counted is None:
            return None
        constraint = TopologySpreadConstraint(
            max_skew=self.max_skew, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", selector=None
        )
        column = cluster.label(ZONE)
        allowed = [(not self.allow or zone in self.allow) and zone not in self.deny for zone in column.values]
        usable = included_nodes(constraint, shape, cluster) & np.array([*allowed, False], np.bool_)[column.ids]
        usable &= self._tolerated_nodes(shape, cluster)
        domains = TopologyDomains.of(ZONE, cluster)
        return SpreadDomains(
            constraint=constraint,
            counted=counted,
            self_match=1,
            domains=domains,
            counting=domains,
            present=domains.restricted(usable).present,
        )

    def _tolerated_nodes(self, shape: PodShape, cluster: Snapshot) -> BoolArray:
        """Return the nodes whose taints the pod tolerates. If `honor_unschedulable`, a cordon is a taint too."""
        column = cluster.taints
        cordons = [any(_is_cordon(taint) for taint in taints) for taints in column.classes]
        others = [[taint for taint in taints if not _is_cordon(taint)] for taints in column.classes]
        tolerable = np.array([*(not untolerated(shape.tolerations, taints) for taints in others), True], np.bool_)
        nodes: BoolArray = tolerable[column.ids]
        if self.honor_unschedulable and not tolerated(shape.tolerations, UNSCHEDULABLE_TAINT):
            nodes &= ~(cluster.unschedulable | np.array([*cordons, False], np.bool_)[column.ids])
        return nodes


def _is_cordon(taint: Taint) -> bool:
    """Return whether the control plane added the taint because the node is cordoned."""
    return (taint.key, taint.effect) == (UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect)


def _revision(shape: PodShape) -> LabelSelector:
    """Return a selector for the pods of the same revision."""
    return LabelSelector(
        tuple(
            Requirement(label, "In", frozenset((shape.labels[label],)))
            for label in REVISION_LABELS
            if label in shape.labels
        )
    )


def _counts(state: SpreadCounts, other: Pod) -> bool:
    counted = state.resolved.counted
    return counted is not None and counted.matches(other)


def _spreading_scores(resolved: SpreadDomains, nodes: Snapshot) -> IntArray:
    """Score zones by how many more pods they have than the emptiest zone: 100 for 0 more, 50 for 1, 33 for 2, ..."""
    counts = resolved.domains.spread(resolved.count(nodes.cluster), nodes)
    outside = nodes.gather(resolved.domains.ids) == ABSENT
    if outside.all():
        return np.zeros(nodes.size, np.int64)
    fewest = counts[~outside].min()
    return np.where(outside, 0, MAX_NODE_SCORE // (1 + np.maximum(counts - fewest, 0)))
