"""A view of some nodes of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from moorage.cluster.snapshot import D, Snapshot

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray


class NodesView(Snapshot):
    """The nodes at some positions of another view, in the order of the positions."""

    def __init__(self, nodes: Snapshot, positions: IntArray) -> None:
        super().__init__(*nodes.sources)
        self._cluster = nodes.cluster
        self._slots = nodes.slots_at(positions)
        self._gathered: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
        self._names: Sequence[str] | None = None
        self._positions: dict[str, int] | None = None
        self._last_pod_generation: int | None = None

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes."""
        return self._cluster

    @property
    def size(self) -> int:
        """Number of nodes in the view."""
        return len(self._slots)

    @property
    def names(self) -> Sequence[str]:
        """Names of the nodes."""
        if self._names is None:
            names = self._columns.names
            self._names = [names[slot] for slot in self._slots.tolist()]
        return self._names

    def position(self, name: str) -> int | None:
        """Return the position of a node, None if the view does not have it."""
        if self._positions is None:
            self._positions = {each: position for position, each in enumerate(self.names)}
        return self._positions.get(name)

    def slot(self, position: int) -> int:
        """Return the slot of the node at a position of the view."""
        return int(self._slots[position])

    @property
    def slots(self) -> IntArray | None:
        """The slots of the view's nodes. The array must not be written."""
        return self._slots

    def slots_at(self, positions: IntArray) -> IntArray:
        """Return the slots of the nodes at positions of the view."""
        return self._slots[positions]

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of an array over all nodes; gather each array only once."""
        gathered = self._gathered.get(id(array))
        if gathered is None:
            # Keep the source array with the result, so that its id is not reused for another array.
            gathered = self._gathered[id(array)] = (array, array[self._slots])
            gathered[1].flags.writeable = False
        return gathered[1]

    def gather_rows(self, rows: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of each row of a matrix."""
        return rows.take(self._slots, axis=1)  # four times as fast as an index

    @property
    def last_pod_generation(self) -> int:
        """The highest of `pod_generations`."""
        if self._last_pod_generation is None:
            self._last_pod_generation = int(np.maximum.reduce(self.pod_generations, initial=0))
        return self._last_pod_generation
