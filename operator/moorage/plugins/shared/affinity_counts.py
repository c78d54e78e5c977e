"""Counts of pods by topology domain for the required terms of InterPodAffinity.

Upstream: `pkg/scheduler/framework/plugins/interpodaffinity/filtering.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.arrays import ABSENT
from moorage.cluster.terms.counted_terms import CarriedKind, CarriedTerm
from moorage.plugins.shared.affinity_terms import IncomingTerms
from moorage.plugins.shared.topology_domains import Topology

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod

DomainTables = Mapping[str, "IntArray"]
"""For each topology key, a table with the count of each domain (see `moorage.plugins.shared.topology_domains`)."""


class DomainSums:
    """Sums of counts over the domains of each topology key. If all counts of a key are 0, the key has no table."""

    def __init__(self, topology: Topology, cluster: Snapshot) -> None:
        self.topology = topology
        self.tables: dict[str, IntArray] = {}
        self._cluster = cluster

    def add(self, key: str, counts: IntArray, weight: int = 1) -> None:
        """Add the count of each node, times `weight`, to the node's domain."""
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


class AffinityCounts(Struct, frozen=True, eq=False):
    """The required terms of the incoming pod, and the counts of placed pods by domain."""

    terms: IncomingTerms
    topology: Topology
    affinity: DomainTables
    """Counts of placed pods that match all affinity terms of the incoming pod."""
    anti_affinity: DomainTables
    """Counts of placed pods that match at least one anti-affinity term of the incoming pod."""
    existing_anti_affinity: DomainTables
    """Counts of placed pods that have an anti-affinity term that matches the incoming pod."""

    def satisfies_affinity(self, nodes: Snapshot) -> BoolArray:
        """Return the nodes that have all keys of the affinity terms and matching pods in their domains."""
        satisfied = np.ones(nodes.size, np.bool_)
        keys = self.terms.affinity_keys
        may_be_first = bool(keys) and self._may_be_first
        for key in keys:
            if may_be_first:
                satisfied &= nodes.label(key).ids != ABSENT
            elif key in self.affinity:
                satisfied &= self.topology.domains(key, nodes).spread(self.affinity[key] > 0, nodes)
            else:
                satisfied[:] = False
        return satisfied

    def satisfies_anti_affinity(self, nodes: Snapshot) -> BoolArray:
        """Return the nodes in whose domains no pod matches an anti-affinity term of the incoming pod."""
        return self._without_pods(self.anti_affinity, nodes)

    def satisfies_existing_anti_affinity(self, nodes: Snapshot) -> BoolArray:
        """Return the nodes in whose domains no pod has an anti-affinity term that matches the incoming pod."""
        return self._without_pods(self.existing_anti_affinity, nodes)

    def changed(self, pod: Pod, other: Pod, nodes: Snapshot, change: int) -> AffinityCounts:
        """Return the counts after `other` is added to the one node of `nodes` (change 1) or removed from it (-1)."""
        terms = self.terms
        namespaces = nodes.namespaces
        existing = [
            term.topology_key
            for term in other.shape.pod_affinity.required_anti_affinity
            if CarriedTerm(CarriedKind.REQUIRED_ANTI_AFFINITY, term).matches(pod.shape, namespaces)
        ]
        affinity = terms.affinity_keys if terms.affinity_keys and terms.affinity.matches(other) else ()
        anti_affinity = [term.topology_key for term in terms.anti_affinity if term.counted.matches(other)]
        if not (existing or affinity or anti_affinity):
            return self
        node = _NodeChange(nodes, change, self.topology)
        return replace(
            self,
            affinity=node.apply(self.affinity, affinity),
            anti_affinity=node.apply(self.anti_affinity, anti_affinity),
            existing_anti_affinity=node.apply(self.existing_anti_affinity, existing),
        )

    @property
    def _may_be_first(self) -> bool:
        """Whether no placed pod matches the pod's affinity terms, but the pod itself does.

        The pod may then be the first pod of its group.
        """
        return self.terms.matches_itself and not any(table.any() for table in self.affinity.values())

    def _without_pods(self, tables: DomainTables, nodes: Snapshot) -> BoolArray:
        """Return the nodes whose domains all have the count 0. A node without a key is in no domain of this key."""
        found = np.ones(nodes.size, np.bool_)
        for key, table in tables.items():
            found &= self.topology.domains(key, nodes).spread(table <= 0, nodes)
        return found


@dataclass(frozen=True, slots=True)
class _NodeChange:
    """A change of the number of pods on the one node of a what-if view: 1 for an added pod, -1 for a removed pod."""

    nodes: Snapshot
    change: int
    topology: Topology

    def apply(self, tables: DomainTables, keys: Iterable[str]) -> DomainTables:
        """Return the tables after adding the change once for each of the keys that the node has."""
        changed = dict(tables)
        for key in keys:
            domains = self.topology.domains(key, self.nodes)
            domain = self.nodes.gather(domains.ids)[0]
            if domain != ABSENT:
                table = changed[key].copy() if key in changed else np.zeros(domains.size + 1, np.int64)
                table[domain] += self.change
                changed[key] = table
        return changed
