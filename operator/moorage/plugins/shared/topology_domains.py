"""The domains of a topology key: which nodes share a zone, a rack, a host.

What is counted by domain is kept in tables: one entry for each domain and one more at the end, 0, that stands for nodes
in no domain (their id, ABSENT, indexes it). Where every node has a value of its own, as with the hostname, a domain's
id is the node's position, so that neither summing nor spreading has anything to do.
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
    """The domain of each node of the cluster; good until nodes or their labels change."""

    ids: IdArray
    """ABSENT for nodes in no domain."""
    size: int
    """One more than the highest id."""
    singles: bool
    """Whether every domain is one node, and its id the node's position."""
    complete: bool
    """Whether every node is in a domain."""

    @classmethod
    def of(cls, key: str, cluster: Snapshot) -> Self:
        """Find the domains of a label key."""
        column = cluster.label(key)
        inside = column.ids != ABSENT
        complete = bool(inside.all())
        singles = bool(np.bincount(column.ids[inside], minlength=1).max() <= 1)
        if singles:
            positions = np.arange(cluster.size, dtype=np.int32)
            return cls(np.where(inside, positions, np.int32(ABSENT)), cluster.size, singles=True, complete=complete)
        return cls(column.ids.copy(), len(column.values), singles=False, complete=complete)

    def restricted(self, nodes: BoolArray) -> Self:
        """Return the same domains with these nodes only in them."""
        if nodes.all():
            return self
        ids = np.where(nodes, self.ids, np.int32(ABSENT))
        return type(self)(ids, self.size, singles=self.singles, complete=False)

    @property
    def present(self) -> IntArray:
        """The domains that have a node."""
        return np.unique(self.ids[self.ids != ABSENT]).astype(np.int64)

    def sums(self, counts: IntArray) -> IntArray:
        """Sum what is counted by node of the cluster into a table."""
        if not self.singles:
            return sum_by_domain(self.ids, counts, self.size + 1)
        table = np.zeros(self.size + 1, np.int64)
        table[:-1] = counts
        if not self.complete:
            table[:-1][self.ids == ABSENT] = 0
        return table

    def spread(self, table: npt.NDArray[D], nodes: Snapshot) -> npt.NDArray[D]:
        """Give each node of the view its domain's entry of a table."""
        if self.singles and self.complete:
            return nodes.gather(table[:-1])
        return table.take(nodes.gather(self.ids))


class Topology:
    """The domains of those keys that were asked for; good until nodes or their labels change."""

    def __init__(self) -> None:
        self._known: dict[str, TopologyDomains] = {}

    def domains(self, key: str, nodes: Snapshot) -> TopologyDomains:
        """Return the domains of a key, over all nodes of the cluster that `nodes` is a view of."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = TopologyDomains.of(key, nodes.cluster)
        return known
