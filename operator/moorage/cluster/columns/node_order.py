"""The order in which a cycle searches the nodes: one node of each zone, then the next node of each zone, and so on.

The search ends when enough nodes fit. Because of this order, the nodes that it finds are from all zones.

Upstream: `pkg/scheduler/backend/cache/node_tree.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.model.node import Node

Zone = tuple[str, str]

_REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


class NodeOrder:
    """The nodes of each zone, in the order in which they were added."""

    def __init__(self, slot_of: Mapping[str, int]) -> None:
        self._slot_of = slot_of
        self._zones: dict[Zone, dict[str, None]] = {}
        self._order: IntArray | None = None

    def add(self, node: Node) -> None:
        """Add a node at the end of its zone."""
        self._zones.setdefault(_zone(node), {})[node.name] = None
        self._order = None

    def update(self, old: Node, new: Node) -> None:
        """Move a node to the end of its new zone if its zone has changed."""
        if _zone(old) != _zone(new):
            self.remove(old)
            self.add(new)

    def remove(self, node: Node) -> None:
        """Remove a node."""
        zone = _zone(node)
        del self._zones[zone][node.name]
        if not self._zones[zone]:
            del self._zones[zone]
        self._order = None

    @property
    def zones(self) -> list[list[str]]:
        """The names of the nodes of each zone."""
        return [list(names) for names in self._zones.values()]

    def restore(self, zones: Iterable[Iterable[str]]) -> None:
        """Put the same nodes into the order of an earlier object, which `zones` has returned."""
        zone_of = {name: zone for zone, names in self._zones.items() for name in names}
        ordered = [dict.fromkeys(names) for names in zones]
        self._zones = {zone_of[next(iter(names))]: names for names in ordered}
        self._order = None

    @property
    def slots(self) -> IntArray:
        """Slots of all nodes in the order in which a cycle searches them."""
        if self._order is None:
            names = chain.from_iterable(zip_longest(*self._zones.values()))
            self._order = np.array([self._slot_of[name] for name in names if name is not None], dtype=np.int64)
        return self._order


def _zone(node: Node) -> Zone:
    return _first(node.labels, _REGION_LABELS), _first(node.labels, _ZONE_LABELS)


def _first(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if key in labels), "")
