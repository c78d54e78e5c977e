"""The nodes that storage can be reached from, found quickly for very many volumes.

Local volumes, and the capacities of local storage, are as many as nodes, and each is for nodes with one value of one
label, mostly the hostname: these are looked up by that value. Anything else is matched against all nodes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.arrays import ABSENT
from moorage.cluster.node_selectors import matches_requirement, matches_selector

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.selectors import NodeSelector, Requirement


class NodeReach:
    """Positions of nodes of a view by what is asked of their labels."""

    def __init__(self, nodes: Snapshot) -> None:
        self.size = nodes.size
        self._nodes = nodes
        self._everywhere: IntArray = np.arange(nodes.size, dtype=np.int64)
        self._by_value: dict[str, dict[str, IntArray]] = {}
        self._groups: dict[NodeSelector | None, int] = {}
        self._positions_of: list[IntArray] = []

    def group(self, affinity: NodeSelector | None) -> int:
        """Return a number that volumes of the same node affinity share."""
        group = self._groups.get(affinity)
        if group is None:
            group = self._groups[affinity] = len(self._positions_of)
            self._positions_of.append(self._everywhere if affinity is None else self._find(affinity))
        return group

    def positions(self, group: int) -> IntArray:
        """Return the positions of nodes that meet the group's affinity."""
        return self._positions_of[group]

    def of_labels(self, requirements: tuple[Requirement, ...]) -> IntArray:
        """Return the positions of nodes whose labels meet all requirements."""
        if len(requirements) == 1 and requirements[0].operator == "In":
            by_value = self._by_label(requirements[0].key)
            found = [by_value[value] for value in requirements[0].values if value in by_value]
            return np.concatenate(found) if found else self._everywhere[:0]
        matching = np.ones(self._nodes.size, np.bool_)
        for requirement in requirements:
            matching &= matches_requirement(requirement, self._nodes)
        return np.flatnonzero(matching)

    def _find(self, affinity: NodeSelector) -> IntArray:
        terms = affinity.terms
        if len(terms) == 1 and terms[0].expressions and not (terms[0].error or terms[0].fields):
            return self.of_labels(terms[0].expressions)
        return np.flatnonzero(matches_selector(affinity, self._nodes))

    def _by_label(self, key: str) -> dict[str, IntArray]:
        """Return the positions of nodes by a label's value."""
        if key not in self._by_value:
            column = self._nodes.label(key)
            order = np.argsort(column.ids, kind="stable")
            ids, starts = np.unique(column.ids[order], return_index=True)
            groups = np.split(order, starts[1:])
            self._by_value[key] = {
                column.values[value]: group
                for value, group in zip(ids.tolist(), groups, strict=False)  # no nodes, one empty group
                if value != ABSENT
            }
        return self._by_value[key]
