"""Columns of values that repeat from node to node, kept as small ids: label values, taints, features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import ABSENT

if TYPE_CHECKING:
    from moorage.cluster.arrays import IdArray
    from moorage.cluster.columns.column import Slots

V = TypeVar("V", bound=Hashable)

_SPARE_VALUES = 64  # values that no node has any more are cleared out once they outnumber the nodes by this


class LabelColumn(Struct, frozen=True):
    """One label: an id a node (ABSENT without the label) and the values that the ids stand for."""

    ids: IdArray
    values: Sequence[str]


class ClassColumn(Struct, Generic[V], frozen=True):
    """One property: an id a node and the different values that it takes."""

    ids: IdArray
    classes: Sequence[V]


class VocabularyColumn(Generic[V]):
    """The writing side: interns values and keeps the ids."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._column = slots.ids()
        self._index: dict[V, int] = {}
        self.values: list[V] = []
        """The values by id."""

    @property
    def ids(self) -> IdArray:
        """The live ids of all nodes."""
        return self._column.view

    def set(self, slot: int, value: V | None) -> None:
        """Write the value of a slot, None for none."""
        self._column.data[slot] = ABSENT if value is None else self._id(value)

    def fill(self, values: Sequence[V | None]) -> None:
        """Write the values of all slots."""
        for value in dict.fromkeys(values):
            if value is not None:
                self._index.setdefault(value, len(self._index))
        index = self._index
        self._column.data[: len(values)] = [ABSENT if value is None else index[value] for value in values]
        self.values = list(index)

    def compact(self) -> None:
        """Forget values that no node has any more, once there are many; ids change then, as the nodes have."""
        if len(self.values) <= 2 * self._slots.size + _SPARE_VALUES:
            return
        ids = self._column.view
        kept = [int(each) for each in np.unique(ids) if each != ABSENT]
        renumbered = np.full(len(self.values) + 1, ABSENT, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        self._column.data[: len(ids)] = renumbered[ids]  # ABSENT reads the spare last entry, which is ABSENT
        self.values = [self.values[each] for each in kept]
        self._index = {value: position for position, value in enumerate(self.values)}

    def _id(self, value: V) -> int:
        known = self._index.get(value)
        if known is None:
            known = self._index[value] = len(self._index)
            self.values.append(value)
        return known
