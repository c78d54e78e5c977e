"""Columns of values that many nodes share (label values, taints, features), stored as small ids."""

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

_SPARE_VALUES = 64  # compact if there are more values than twice the number of nodes plus this number


class LabelColumn(Struct, frozen=True):
    """A column of one label: for each node the id of its value (ABSENT without the label), and the values by id."""

    ids: IdArray
    values: Sequence[str]


class ClassColumn(Struct, Generic[V], frozen=True):
    """A column of one property: for each node the id of its value, and the distinct values (classes) by id."""

    ids: IdArray
    classes: Sequence[V]


class VocabularyColumn(Generic[V]):
    """A writable column that stores each distinct value once, and for each node the id of its value."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._column = slots.add_ids()
        self._index: dict[V, int] = {}
        self.values: list[V] = []
        """The values by id."""

    @property
    def ids(self) -> IdArray:
        """The live ids of all nodes."""
        return self._column.entries

    def set(self, slot: int, value: V | None) -> None:
        """Set the value of a slot; None means that the node has no value."""
        self._column.data[slot] = ABSENT if value is None else self._id(value)

    def fill(self, values: Sequence[V | None]) -> None:
        """Set the values of all slots."""
        for value in dict.fromkeys(values):
            if value is not None:
                self._index.setdefault(value, len(self._index))
        index = self._index
        self._column.data[: len(values)] = [ABSENT if value is None else index[value] for value in values]
        self.values = list(index)

    def compact(self) -> None:
        """Drop values that no node has any more, if there are many.

        This renumbers the ids. Results that readers keep are not used again, because `generations.nodes` changes too.
        """
        if len(self.values) <= 2 * self._slots.size + _SPARE_VALUES:
            return
        ids = self._column.entries
        kept = [int(each) for each in np.unique(ids) if each != ABSENT]
        renumbered = np.full(len(self.values) + 1, ABSENT, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        self._column.data[: len(ids)] = renumbered[ids]  # ABSENT selects the last entry, which is ABSENT
        self.values = [self.values[each] for each in kept]
        self._index = {value: position for position, value in enumerate(self.values)}

    def _id(self, value: V) -> int:
        number = self._index.get(value)
        if number is None:
            number = self._index[value] = len(self._index)
            self.values.append(value)
        return number
