"""NodeFacts: the facts about nodes that warnings depend on, such as the set of all zones.

Most changes of nodes change no fact. For example, a zone disappears only with its last node.
"""

from __future__ import annotations

import numpy as np

from moorage.cluster.arrays import ABSENT
from moorage.cluster.snapshot import Snapshot


class NodeFacts:
    """Facts about all nodes, which are read from the columns and kept until a node changes. For use between cycles."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Read from `snapshot`, a live view of the nodes."""
        self._snapshot = snapshot
        self._labels: dict[str, frozenset[str]] = {}
        self._generation = -1

    @property
    def generation(self) -> int:
        """A number that grows with each change of a node."""
        return self._snapshot.generations.nodes

    @property
    def are_known(self) -> bool:
        """Whether the cluster has nodes."""
        return self._snapshot.size > 0

    def values(self, label: str) -> frozenset[str]:
        """Return the values that nodes have for a label."""
        if self._generation != self.generation:
            self._generation = self.generation
            self._labels.clear()
        if label not in self._labels:
            column = self._snapshot.label(label)
            ids = np.unique(column.ids).tolist()
            self._labels[label] = frozenset(column.values[index] for index in ids if index != ABSENT)
        return self._labels[label]

    def resources(self, name: str) -> frozenset[str]:
        """Return a set with the name of the resource if a node offers the resource; otherwise an empty set."""
        return frozenset({name} if (self._snapshot.allocatable(name) > 0).any() else ())


class ReadNodeFacts:
    """The node facts that one computation has read. The computation is repeated only if one of these facts changes."""

    def __init__(self, facts: NodeFacts) -> None:
        """Read from `facts`."""
        self._facts = facts
        self._values: dict[str, frozenset[str]] = {}
        self._resources: dict[str, frozenset[str]] = {}

    def values(self, label: str) -> frozenset[str]:
        """Return the values that nodes have for a label."""
        return self._values.setdefault(label, self._facts.values(label))

    def resources(self, name: str) -> frozenset[str]:
        """Return a set with the name of the resource if a node offers the resource; otherwise an empty set."""
        return self._resources.setdefault(name, self._facts.resources(name))

    def are_current(self) -> bool:
        """Return whether all facts that were read are still the same."""
        return all(self._facts.values(label) == values for label, values in self._values.items()) and all(
            self._facts.resources(name) == found for name, found in self._resources.items()
        )
