"""Spread constraints, resolved against the nodes of the cluster.

`SpreadDomains` is valid for a pod shape until the nodes change. `SpreadCounts` holds the counts of one cycle, or the
counts of one what-if in a cycle.
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
    """A constraint of a shape, resolved against the current nodes."""

    constraint: TopologySpreadConstraint
    counted: CountedTerm | None
    """The term that selects the pods that count; None if no pods count."""
    self_match: int
    """1 if the pod itself will count when it is placed, otherwise 0."""
    domains: TopologyDomains
    counting: TopologyDomains
    """Like `domains`, but nodes whose pods do not count are in no domain."""
    present: IntArray
    """The ids of the domains that the pod may use. The skew is relative to the emptiest of these domains."""

    def count(self, cluster: Snapshot) -> IntArray:
        """Return the table of pod counts by domain."""
        if self.counted is None:
            return np.zeros(self.counting.size + 1, np.int64)
        return self.counting.sums(cluster.counted(self.counted))


def resolve(
    constraints: Sequence[TopologySpreadConstraint], shape: PodShape, cluster: Snapshot
) -> tuple[SpreadDomains, ...]:
    """Resolve constraints. Only nodes with the topology keys of all constraints count."""
    if not constraints:
        return ()
    eligible = nodes_with_keys((each.topology_key for each in constraints), cluster)
    return tuple(
        _resolve_one(
            each, shape, TopologyDomains.of(each.topology_key, cluster), eligible & included_nodes(each, shape, cluster)
        )
        for each in constraints
    )


def resolve_lenient(
    constraints: Sequence[TopologySpreadConstraint], shape: PodShape, cluster: Snapshot
) -> tuple[SpreadDomains, ...]:
    """Resolve constraints. Nodes without the topology key form one domain, as if their value were empty."""
    return tuple(
        _resolve_one(each, shape, _with_missing(each.topology_key, cluster), included_nodes(each, shape, cluster))
        for each in constraints
    )


def _with_missing(key: str, cluster: Snapshot) -> TopologyDomains:
    """Return the domains of a key. The nodes without the key form the domain of the empty value."""
    column = cluster.label(key)
    missing = column.values.index("") if "" in column.values else len(column.values)
    ids = np.where(column.ids == ABSENT, np.int32(missing), column.ids)
    return TopologyDomains(ids, len(column.values) + 1, singles=False, complete=True)


def _resolve_one(
    constraint: TopologySpreadConstraint, shape: PodShape, domains: TopologyDomains, counting: BoolArray
) -> SpreadDomains:
    """Resolve one constraint; `counting` are the nodes whose pods count."""
    selector = constraint.selector
    # An empty selector counts no placed pods, although it matches the pod itself (upstream countPodsMatchSelector).
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


def nodes_with_keys(keys: Iterable[str], nodes: Snapshot) -> BoolArray:
    """Return the nodes that have all the labels."""
    found = np.ones(nodes.size, np.bool_)
    for key in keys:
        found &= nodes.label(key).ids != ABSENT
    return found


def included_nodes(constraint: TopologySpreadConstraint, shape: PodShape, cluster: Snapshot) -> BoolArray:
    """Return the nodes that the constraint's inclusion policies include (upstream matchNodeInclusionPolicies)."""
    included = matches_pod_affinity(shape, cluster) if constraint.honor_affinity else np.ones(cluster.size, np.bool_)
    if constraint.honor_taints:
        column = cluster.taints
        tolerable = [not untolerated(shape.tolerations, taints) for taints in column.classes]
        included = included & np.array([*tolerable, True], np.bool_)[column.ids]
    return included


class SpreadCounts(Struct, frozen=True):
    """The pod counts by domain of one constraint, in one cycle or in a what-if."""

    resolved: SpreadDomains
    counts: IntArray

    def fits(self) -> BoolArray:
        """Return, for each domain, whether one more pod would respect maxSkew. The last entry (no domain) is False."""
        resolved = self.resolved
        fits = self.counts <= resolved.constraint.max_skew + self._minimum() - resolved.self_match
        fits[-1] = False
        return fits

    def changed(self, other: Pod, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts after `other` is added to the one node of `nodes` (change 1) or removed from it (-1).

        A removed pod is subtracted even if it never counted, because it is terminating or the selector is empty.
        kube-scheduler does so, and preemption must give the same results.
        """
        selector = self.resolved.constraint.selector
        if selector is None or not selector.matches(other.labels):
            return self
        return self.shifted(nodes, change)

    def shifted(self, nodes: Snapshot, change: int) -> SpreadCounts:
        """Return the counts after adding `change` in the domain of the one node of `nodes`."""
        domain = nodes.gather(self.resolved.counting.ids)[0]
        if domain == ABSENT:
            return self
        counts = self.counts.copy()
        counts[domain] += change
        return replace(self, counts=counts)

    def _minimum(self) -> int:
        """Return the smallest count of the present domains; 0 if there are fewer than minDomains."""
        present = self.resolved.present
        if len(present) < max(self.resolved.constraint.min_domains, 1):
            return 0
        if len(present) == len(self.counts) - 1:
            return int(self.counts[:-1].min())
        return int(self.counts[present].min())
