"""How pods spread over the domains of a topology key.

`SpreadDomains` is what a constraint means for a shape and the nodes as they are; it outlives decisions. `SpreadCounts`
is what one decision, or a what-if of it, counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.arrays import ABSENT
from moorage.cluster.node_selectors import matches_pod_affinity
from moorage.cluster.terms.counted_terms import Clause, CountedTerm
from moorage.cluster.tolerations import untolerated
from moorage.plugins.shared.topology_domains import TopologyDomains

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.affinity import TopologySpreadConstraint
    from moorage.model.pods.pod import Pod, PodShape


@dataclass(frozen=True, slots=True, eq=False)
class SpreadDomains:
    """A constraint of a shape, resolved against the nodes as they are."""

    constraint: TopologySpreadConstraint
    counted: CountedTerm | None
    """The pods that count; None where none does."""
    self_match: int
    """1 if the pod itself counts once it is placed."""
    domains: TopologyDomains
    counting: TopologyDomains
    """The same domains with the nodes only whose pods count."""
    present: IntArray
    """The domains that the pod could be in, and so have to keep up with each other."""

    def count(self, cluster: Snapshot) -> IntArray:
        """Return how many pods each domain has."""
        if self.counted is None:
            return np.zeros(self.counting.size + 1, np.int64)
        return self.counting.sums(cluster.counted(self.counted))


def resolve(
    constraints: Sequence[TopologySpreadConstraint], shape: PodShape, cluster: Snapshot
) -> tuple[SpreadDomains, ...]:
    """Resolve constraints of which only nodes count that have all their topology keys."""
    if not constraints:
        return ()
    eligible = having_keys((each.topology_key for each in constraints), cluster)
    return tuple(
        resolve_one(
            each, shape, TopologyDomains.of(each.topology_key, cluster), eligible & may_be_used(each, shape, cluster)
        )
        for each in constraints
    )


def resolve_one(
    constraint: TopologySpreadConstraint, shape: PodShape, domains: TopologyDomains, counting: BoolArray
) -> SpreadDomains:
    """Resolve one constraint, given its domains and the nodes whose pods count."""
    selector = constraint.selector
    # An empty selector counts no placed pod, although it matches the pod itself (upstream countPodsMatchSelector).
    counts_pods = selector is not None and not selector.is_empty
    restricted = domains.restricted(counting)
    return SpreadDomains(
        constraint=constraint,
        counted=CountedTerm((Clause(frozenset((shape.namespace,)), selector),), counts_terminating=False)
        if counts_pods
        else None,
        self_match=int(selector is not None and selector.matches(shape.labels)),
        domains=domains,
        counting=restricted,
        present=restricted.present,
    )


def having_keys(keys: Iterable[str], nodes: Snapshot) -> BoolArray:
    """Which nodes have all the labels."""
    having = np.ones(nodes.size, np.bool_)
    for key in keys:
        having &= nodes.label(key).ids != ABSENT
    return having


def may_be_used(constraint: TopologySpreadConstraint, shape: PodShape, cluster: Snapshot) -> BoolArray:
    """Which nodes the constraint's inclusion policies let count (upstream matchNodeInclusionPolicies)."""
    usable = matches_pod_affinity(shape, cluster) if constraint.honor_affinity else np.ones(cluster.size, np.bool_)
    if constraint.honor_taints:
        column = cluster.taints
        tolerable = [not untolerated(shape.tolerations, taints) for taints in column.classes]
        usable = usable & np.array([*tolerable, True], np.bool_)[column.ids]
    return usable


class SpreadCounts(Struct, frozen=True):
    """How many pods the domains of a constraint have, in one decision or in a what-if of it."""

    resolved: SpreadDomains
    counts: IntArray

    def fits(self) -> BoolArray:
        """Whether one more pod keeps within maxSkew, by domain; False at the end, for nodes in none."""
        resolved = self.resolved
        fits = self.counts <= resolved.constraint.max_skew + self._fewest() - resolved.self_match
        fits[-1] = False
        return fits

    def changed(self, other: Pod, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts with `other` come to the one node of `nodes` (1), or gone from it (-1).

        A pod that was never counted is counted out all the same, be it terminating or the selector empty: so does
        kube-scheduler, whose preemption the answers have to match.
        """
        selector = self.resolved.constraint.selector
        if selector is None or not selector.matches(other.labels):
            return self
        return self.shifted(nodes, change)

    def shifted(self, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts with one pod more, or less, in the domain of the one node of `nodes`."""
        domain = nodes.gather(self.resolved.counting.ids)[0]
        if domain == ABSENT:
            return self
        counts = self.counts.copy()
        counts[domain] += change
        return replace(self, counts=counts)

    def _fewest(self) -> int:
        """Return the smallest count of a domain, 0 if there are fewer domains than minDomains."""
        present = self.resolved.present
        if len(present) < max(self.resolved.constraint.min_domains, 1):
            return 0
        if len(present) == len(self.counts) - 1:
            return int(self.counts[:-1].min())
        return int(self.counts[present].min())
