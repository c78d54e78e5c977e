"""How pods spread over the domains of a topology key.

`SpreadDomains` is what a constraint means for a shape and the nodes as they are; it outlives decisions. `SpreadCounts`
is what one decision, or a what-if of it, counts.

Tables by domain have an entry for each id of the key's vocabulary and one more at the end, for nodes that are in no
domain: their id, ABSENT, indexes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.arrays import ABSENT
from moorage.framework.domains import sum_by_domain
from moorage.framework.node_selectors import matches_pod_affinity
from moorage.framework.terms import Clause, CountedTerm
from moorage.framework.tolerations import untolerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moorage.framework.arrays import BoolArray, IdArray, IntArray
    from moorage.framework.snapshot import Snapshot
    from moorage.model.affinity import TopologySpreadConstraint
    from moorage.model.pod import Pod, PodShape


@dataclass(frozen=True, slots=True, eq=False)
class SpreadDomains:
    """A constraint of a shape, resolved against the nodes as they are."""

    constraint: TopologySpreadConstraint
    counted: CountedTerm | None
    """The pods that count; None where none does."""
    self_match: int
    """1 if the pod itself counts once it is placed."""
    ids: IdArray
    """The domain of every node of the cluster whose pods count, ABSENT for the others."""
    present: IntArray
    """The domains that the pod could be in, and so have to keep up with each other."""
    table_size: int

    def count(self, cluster: Snapshot) -> IntArray:
        """Return how many pods each domain has."""
        if self.counted is None:
            return np.zeros(self.table_size, np.int64)
        return sum_by_domain(self.ids, cluster.counted(self.counted), self.table_size)


def resolve(
    constraints: Sequence[TopologySpreadConstraint], shape: PodShape, cluster: Snapshot, *, all_keys: bool
) -> tuple[SpreadDomains, ...]:
    """Resolve constraints; with `all_keys` only nodes that have all their topology keys count."""
    if not constraints:
        return ()
    eligible = having_keys((each.topology_key for each in constraints), cluster) if all_keys else None
    return tuple(_resolve(constraint, shape, cluster, eligible) for constraint in constraints)


def having_keys(keys: Iterable[str], nodes: Snapshot) -> BoolArray:
    """Which nodes have all the labels."""
    having = np.ones(nodes.size, np.bool_)
    for key in keys:
        having &= nodes.label(key).ids != ABSENT
    return having


def _resolve(
    constraint: TopologySpreadConstraint, shape: PodShape, cluster: Snapshot, eligible: BoolArray | None
) -> SpreadDomains:
    column = cluster.label(constraint.topology_key)
    ids = column.ids
    ids = domain_ids(ids, column.values) if eligible is None else np.where(eligible, ids, ABSENT)
    ids = np.where(may_be_used(constraint, shape, cluster), ids, ABSENT).astype(np.int32, copy=False)
    selector = constraint.selector
    return SpreadDomains(
        constraint=constraint,
        # An empty selector counts no placed pod, although it matches the pod itself (upstream countPodsMatchSelector).
        counted=None
        if selector is None or selector.is_empty
        else CountedTerm((Clause(frozenset((shape.namespace,)), selector),), counts_terminating=False),
        self_match=int(selector is not None and selector.matches(shape.labels)),
        ids=ids,
        present=np.unique(ids[ids != ABSENT]),
        table_size=len(column.values) + 1,
    )


def may_be_used(constraint: TopologySpreadConstraint, shape: PodShape, cluster: Snapshot) -> BoolArray:
    """Which nodes the constraint's inclusion policies let count (upstream matchNodeInclusionPolicies)."""
    usable = matches_pod_affinity(shape, cluster) if constraint.honor_affinity else np.ones(cluster.size, np.bool_)
    if constraint.honor_taints:
        column = cluster.taints
        tolerable = [not untolerated(shape.tolerations, taints) for taints in column.classes]
        usable = usable & np.array([*tolerable, True], np.bool_)[column.ids]
    return usable


def domain_ids(ids: IdArray, values: Sequence[str]) -> IdArray:
    """Put nodes without the label into a domain of their own, that of the label's empty value."""
    absent_domain = values.index("") if "" in values else len(values)
    return np.where(ids == ABSENT, absent_domain, ids).astype(np.int32, copy=False)


@dataclass(frozen=True, slots=True)
class SpreadCounts:
    """How many pods the domains of a constraint have, in one decision or in a what-if of it."""

    domains: SpreadDomains
    counts: IntArray

    def fits(self) -> BoolArray:
        """Whether one more pod keeps within maxSkew, by domain; False at the end, for nodes in none."""
        constraint = self.domains.constraint
        room = constraint.max_skew + self._fewest() - self.domains.self_match
        fits = self.counts <= room
        fits[-1] = False
        return fits

    def changed(self, other: Pod, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts with `other` come to the one node of `nodes` (1), or gone from it (-1).

        A pod that was never counted is counted out all the same, be it terminating or the selector empty: so does
        kube-scheduler, whose preemption the answers have to match.
        """
        selector = self.domains.constraint.selector
        if selector is None or not selector.matches(other.labels):
            return self
        return self.shifted(nodes, change)

    def shifted(self, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts with one pod more, or less, in the domain of the one node of `nodes`."""
        domain = nodes.gather(self.domains.ids)[0]
        if domain == ABSENT:
            return self
        counts = self.counts.copy()
        counts[domain] += change
        return replace(self, counts=counts)

    def _fewest(self) -> int:
        """Return the smallest count of a domain, 0 if there are fewer domains than minDomains."""
        present = self.domains.present
        if len(present) < max(self.domains.constraint.min_domains, 1):
            return 0
        return int(self.counts[present].min())
