"""The domains of a topology key: sets of nodes that share a zone, a rack or a host.

A table holds the count of each domain at the index of the domain's id. One more entry at the end is always 0. It is the
count for nodes in no domain, whose id is ABSENT (-1). If each node has a different value, such as its hostname, a
domain's id is the node's position. Then `sums` and `spread` need no arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.cluster.arrays import ABSENT
from moorage.cluster.terms.domain_sums import sum_by_domain

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IdArray, IntArray
    from moorage.cluster.snapshot import Snapshot

D = TypeVar("D", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class TopologyDomains:
    """The domain of each node of the cluster; valid until nodes or their labels change."""

    ids: IdArray
    """The domain of each node; ABSENT for nodes in no domain."""
    size: int
    """One more than the highest id."""
    singles: bool
    """Whether each domain is one node, and the domain's id is the node's position."""
    complete: bool
    """Whether each node is in a domain."""

    @classmethod
    def of(cls, key: str, cluster: Snapshot) -> Self:
        """Return the domains of a label key."""
        column = cluster.label(key)
        inside = column.ids != ABSENT
        complete = bool(inside.all())
        singles = bool(np.bincount(column.ids[inside], minlength=1).max() <= 1)
        if singles:
            positions = np.arange(cluster.size, dtype=np.int32)
            return cls(np.where(inside, positions, np.int32(ABSENT)), cluster.size, singles=True, complete=complete)
        return cls(column.ids.copy(), len(column.values), singles=False, complete=complete)

    def restricted(self, nodes: BoolArray) -> Self:
        """Return the same domains without the nodes that are not in `nodes`."""
        if nodes.all():
            return self
        ids = np.where(nodes, self.ids, np.int32(ABSENT))
        return type(self)(ids, self.size, singles=self.singles, complete=False)

    @property
    def present(self) -> IntArray:
        """The ids of the domains that have a node."""
        return np.unique(self.ids[self.ids != ABSENT]).astype(np.int64)

    def sums(self, counts: IntArray) -> IntArray:
        """Return a table of sums: for each domain, the sum of the counts of its nodes."""
        if not self.singles:
            return sum_by_domain(self.ids, counts, self.size + 1)
        table = np.zeros(self.size + 1, np.int64)
        table[:-1] = counts
        if not self.complete:
            table[:-1][self.ids == ABSENT] = 0
        return table

    def spread(self, table: npt.NDArray[D], nodes: Snapshot) -> npt.NDArray[D]:
        """Return the table's entry for the domain of each node of the view."""
        if self.singles and self.complete:
            return nodes.gather(table[:-1])
        return table.take(nodes.gather(self.ids))


class Topology:
    """A cache of the domains by topology key; valid until nodes or their labels change."""

    def __init__(self) -> None:
        self._domains: dict[str, TopologyDomains] = {}

    def domains(self, key: str, nodes: Snapshot) -> TopologyDomains:
        """Return the domains of a key over the whole cluster of the view `nodes`."""
        found = self._domains.get(key)
        if found is None:
            found = self._domains[key] = TopologyDomains.of(key, nodes.cluster)
        return found
