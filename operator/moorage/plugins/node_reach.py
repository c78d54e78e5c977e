"""The nodes that storage can be reached from, found quickly for very many volumes.

Local volumes, and the capacities of local storage, are as many as nodes, and each is for nodes with one value of one
label, mostly the hostname: these are looked up by that value. Anything else is matched against all nodes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.arrays import ABSENT
from moorage.framework.node_selectors import matches_requirement, matches_selector

if TYPE_CHECKING:
    from moorage.framework.arrays import IntArray
    from moorage.framework.snapshot import Snapshot
    from moorage.model.selectors import NodeSelector, Requirement


class NodeReach:
    """Positions of nodes of a view by what is asked of their labels."""

    def __init__(self, nodes: Snapshot) -> None:
        self._nodes = nodes
        self._everywhere: IntArray = np.arange(nodes.size, dtype=np.int64)
        self._by_value: dict[str, dict[str, IntArray]] = {}
        self._by_affinity: dict[NodeSelector, IntArray] = {}

    def of_affinity(self, affinity: NodeSelector | None) -> IntArray:
        """Return the positions of nodes that meet a volume's node affinity, all where it has none."""
        if affinity is None:
            return self._everywhere
        if affinity not in self._by_affinity:
            terms = affinity.terms
            plain = len(terms) == 1 and not (terms[0].is_empty or terms[0].error or terms[0].fields)
            self._by_affinity[affinity] = (
                self.of_labels(terms[0].expressions)
                if plain
                else np.flatnonzero(matches_selector(affinity, self._nodes))
            )
        return self._by_affinity[affinity]

    def of_labels(self, requirements: tuple[Requirement, ...]) -> IntArray:
        """Return the positions of nodes whose labels meet all requirements."""
        if len(requirements) == 1 and requirements[0].operator == "In":
            positions = self._positions(requirements[0].key)
            found = [positions[value] for value in requirements[0].values if value in positions]
            return np.concatenate(found) if found else self._everywhere[:0]
        matching = np.ones(self._nodes.size, np.bool_)
        for requirement in requirements:
            matching &= matches_requirement(requirement, self._nodes)
        return np.flatnonzero(matching)

    def _positions(self, key: str) -> dict[str, IntArray]:
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
