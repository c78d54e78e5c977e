"""The nodes that can reach a volume or a segment of storage.

A cluster may have thousands of local volumes and local storage capacities. Each of them selects its node by one value
of one label, mostly the hostname. This module looks up such nodes by the value. It matches only other selectors
against all nodes.
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
    """An index that finds the positions of the nodes of a view that meet requirements on labels."""

    def __init__(self, nodes: Snapshot) -> None:
        self.size = nodes.size
        self._nodes = nodes
        self._everywhere: IntArray = np.arange(nodes.size, dtype=np.int64)
        self._by_value: dict[str, dict[str, IntArray]] = {}
        self._groups: dict[NodeSelector | None, int] = {}
        self._positions_of: list[IntArray] = []

    def group(self, affinity: NodeSelector | None) -> int:
        """Return the group number of a node affinity; equal affinities have the same number."""
        group = self._groups.get(affinity)
        if group is None:
            group = self._groups[affinity] = len(self._positions_of)
            self._positions_of.append(self._everywhere if affinity is None else self._find(affinity))
        return group

    def positions(self, group: int) -> IntArray:
        """Return the positions of the nodes that meet the group's affinity."""
        return self._positions_of[group]

    def of_labels(self, requirements: tuple[Requirement, ...]) -> IntArray:
        """Return the positions of the nodes whose labels meet all requirements."""
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
        """Return the positions of the nodes for each value of a label."""
        if key not in self._by_value:
            column = self._nodes.label(key)
            order = np.argsort(column.ids, kind="stable")
            ids, starts = np.unique(column.ids[order], return_index=True)
            groups = np.split(order, starts[1:])
            self._by_value[key] = {
                column.values[value]: group
                for value, group in zip(
                    ids.tolist(), groups, strict=False
                )  # without nodes, `split` returns one empty group
                if value != ABSENT
            }
        return self._by_value[key]
