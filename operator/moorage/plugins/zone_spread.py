"""ZoneSpread: a policy's way of spreading a workload over zones, without a word in its pods.

Prefer ranks zones by how many pods of the scope they have; just-assumed ones count, so that a burst spreads as evenly
as a trickle. Require refuses zones that would get further ahead of the emptiest one than `maxSkew`. A table of zones
that the policy prefers is part of the same score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

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
from moorage.framework.terms import Clause, CountedTerm
from moorage.model.affinity import TopologySpreadConstraint
from moorage.model.selectors import LabelSelector, Requirement
from moorage.plugins.pod_topology_spread import MISSING_LABEL_REASON, SKEW_REASON
from moorage.plugins.spread_defaults import ZONE
from moorage.plugins.spread_domains import SpreadCounts, SpreadDomains, may_be_used

if TYPE_CHECKING:
    from moorage.framework.arrays import IntArray
    from moorage.framework.snapshot import Snapshot
    from moorage.model.pod import Pod, PodShape

REVISION_LABELS = ("pod-template-hash", "controller-revision-hash")
"""Labels by which Deployments, and by which StatefulSets and DaemonSets, tell a revision's pods."""

TABLE_UNIT = 10
"""What a point of a policy's 0-10 tables is worth in the framework's 0-100."""


@dataclass(frozen=True, slots=True, eq=False)
class ZoneScores:
    """The score of every zone, by the zone's id; the last one, 0, is for nodes without a zone."""

    by_zone: IntArray


class ZoneSpread(PreFilterPlugin[SpreadCounts], FilterPlugin[SpreadCounts], ScorePlugin[ZoneScores]):
    """Spreads the pods of a workload, or of a namespace, over zones."""

    default_weight: ClassVar[int] = 2
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    spread: Literal["Ignore", "Prefer", "Require"] = "Prefer"
    """Prefer ranks zones with fewer pods higher, Require refuses zones beyond maxSkew as well, Ignore does neither."""
    scope: Literal["Workload", "Namespace"] = "Workload"
    """Which pods count: those of the same owner and revision (a pod without an owner is not spread), or all of the
    namespace."""
    max_skew: Annotated[int, Field(ge=1)] = 1
    """How many more pods a zone may have than the emptiest one, with Require."""
    prefer: dict[str, Annotated[int, Field(ge=0, le=10)]] = Field(default_factory=dict)
    """Scores of zones, 0 to 10; others have 0. With a table the score is the mean of the table's and the spreading's,
    so that neither drowns the other."""
    allow: tuple[str, ...] = ()
    """Zones that the policy's filters allow; empty: all. Zones that no pod may use need not keep up with the others."""
    deny: tuple[str, ...] = ()
    """Zones that the policy's filters refuse."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[SpreadCounts]:
        """Count the pods of the scope by zone; SKIP where nothing is required."""
        domains = self._domains(pod.shape, snapshot) if self.spread == "Require" else None
        if domains is None:
            return PreFilterResult(SKIP)
        return PreFilterResult(state=SpreadCounts(domains, domains.count(snapshot)))

    def add_pod(self, state: SpreadCounts, pod: Pod, other: Pod, nodes: Snapshot) -> SpreadCounts:
        """Count `other` in the node's zone."""
        del pod
        return state.shifted(nodes, 1) if _counts(state, other) else state

    def remove_pod(self, state: SpreadCounts, pod: Pod, other: Pod, nodes: Snapshot) -> SpreadCounts:
        """Count `other` out of the node's zone."""
        del pod
        return state.shifted(nodes, -1) if _counts(state, other) else state

    def filter(self, state: SpreadCounts, pod: Pod, nodes: Snapshot) -> Verdict:
        """Pass nodes in whose zone one more pod keeps within maxSkew."""
        del pod
        zones = nodes.label(ZONE).ids
        passed = state.fits()[zones]

        def rejections() -> Sequence[Rejection]:
            return (
                Rejection(zones == ABSENT, MISSING_LABEL_REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
                Rejection(~passed & (zones != ABSENT), SKEW_REASON),
            )

        return Verdict(passed, rejections)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[ZoneScores]:
        """Grade the zones of the nodes that fit; SKIP where there is neither a scope nor a table."""
        parts = []
        domains = self._domains(pod.shape, nodes.cluster) if self.spread != "Ignore" else None
        if domains is not None:
            parts.append(_graded(domains.count(nodes.cluster), nodes.label(ZONE).ids))
        if self.prefer:
            points = [self.prefer.get(zone, 0) for zone in nodes.label(ZONE).values]
            parts.append(TABLE_UNIT * np.array([*points, 0], np.int64))
        if not parts:
            return PreScoreResult(SKIP)
        return PreScoreResult(state=ZoneScores(sum(parts, np.zeros_like(parts[0])) // len(parts)))

    def score(self, state: ZoneScores, pod: Pod, nodes: Snapshot) -> IntArray:
        """Give every node its zone's score, and nodes without a zone 0."""
        del pod
        return state.by_zone[nodes.label(ZONE).ids]

    def _domains(self, shape: PodShape, cluster: Snapshot) -> SpreadDomains | None:
        """Return the zones, and what counts in them, or None where the pod is in no scope."""
        counted = self._scope(shape)
        if counted is None:
            return None
        return cluster.memo(self, shape, cluster.generations.nodes, lambda: self._resolved(counted, shape, cluster))

    def _scope(self, shape: PodShape) -> CountedTerm | None:
        if self.scope == "Namespace":
            clause = Clause(frozenset((shape.namespace,)), LabelSelector())
        elif shape.owner is None:
            return None
        else:
            clause = Clause(frozenset((shape.namespace,)), _revision(shape), owner_uid=shape.owner.uid)
        return CountedTerm((clause,), counts_terminating=False)

    def _resolved(self, counted: CountedTerm, shape: PodShape, cluster: Snapshot) -> SpreadDomains:
        """Count in all zones, and let those keep up that the pod may use: by its affinity, tolerations and `allow`."""
        constraint = TopologySpreadConstraint(
            max_skew=self.max_skew,
            topology_key=ZONE,
            when_unsatisfiable="DoNotSchedule",
            selector=None,
            honor_taints=True,
        )
        column = cluster.label(ZONE)
        allowed = [(not self.allow or zone in self.allow) and zone not in self.deny for zone in column.values]
        usable = may_be_used(constraint, shape, cluster) & np.array([*allowed, False], np.bool_)[column.ids]
        return SpreadDomains(
            constraint=constraint,
            counted=counted,
            self_match=1,
            ids=column.ids.copy(),
            present=np.unique(column.ids[usable]),
            table_size=len(column.values) + 1,
        )


def _revision(shape: PodShape) -> LabelSelector:
    return LabelSelector(
        tuple(
            Requirement(label, "In", frozenset((shape.labels[label],)))
            for label in REVISION_LABELS
            if label in shape.labels
        )
    )


def _counts(state: SpreadCounts, other: Pod) -> bool:
    counted = state.domains.counted
    return counted is not None and counted.matches(other)


def _graded(counts: IntArray, zones: IntArray) -> IntArray:
    """Score zones by how many more pods they have than the emptiest zone of the nodes: none 100, one 50, two 33, ..."""
    present = zones[zones != ABSENT]
    fewest = counts[present].min() if present.size else 0
    ahead = np.maximum(counts - fewest, 0)
    scores = MAX_NODE_SCORE // (1 + ahead)
    scores[-1] = 0
    return scores
