"""Columns: arrays with one entry for each node slot. All columns grow and shrink together.

Slots are numbered from 0 without gaps. When a node is removed, the entries of the last slot move to its
slot. Every column therefore stays contiguous, and readers get a slice of the written array, not a copy.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.cluster.arrays import ABSENT

DType = TypeVar("DType", bound=np.generic)

_FIRST_CAPACITY = 16  # enough for a small cluster; doubled when it is used up


class Column(Generic[DType]):
    """An array over all slots; unwritten entries have the value `empty`.

    Writers set `data[slot]`. Readers use `entries`, which is read-only and ends at the last node.
    """

    __slots__ = ("_entries", "_slots", "data", "empty")

    def __init__(self, slots: Slots, dtype: type[DType], empty: int) -> None:
        self.empty = empty
        self.data: npt.NDArray[DType] = np.full(slots.capacity, empty, dtype=dtype)
        self._slots = slots
        self._entries: npt.NDArray[DType] | None = None

    @property
    def entries(self) -> npt.NDArray[DType]:
        """The live, read-only entries of all nodes."""
        if self._entries is None:
            self._entries = self.data[: self._slots.size]
            self._entries.flags.writeable = False
        return self._entries

    def grow(self, capacity: int) -> None:
        """Reallocate the array with more slots."""
        grown = np.full(capacity, self.empty, dtype=self.data.dtype)
        grown[: len(self.data)] = self.data
        self.data = grown
        self._entries = None

    def reset_entries(self) -> None:
        """Drop the slice `entries`, because the number of nodes has changed; the next read slices again."""
        self._entries = None

    def replace_by_last(self, slot: int, last: int) -> None:
        """Move the entry of the slot `last` to `slot` and clear the slot `last`."""
        self.data[slot] = self.data[last]
        self.data[last] = self.empty


class Slots:
    """The number of slots, and all columns over them."""

    def __init__(self) -> None:
        self.size = 0
        self.capacity = _FIRST_CAPACITY
        self._columns: set[Column[np.generic]] = set()

    def add_integers(self) -> Column[np.int64]:
        """Add a column of integers, initially 0."""
        return self._add(Column(self, np.int64, 0))

    def add_flags(self) -> Column[np.bool_]:
        """Add a column of flags, initially False."""
        return self._add(Column(self, np.bool_, 0))

    def add_ids(self) -> Column[np.int32]:
        """Add a column of ids, initially ABSENT."""
        return self._add(Column(self, np.int32, ABSENT))

    def discard(self, column: Column[DType]) -> None:
        """Remove a column that has no more readers."""
        self._columns.discard(column)

    def append(self) -> int:
        """Add a slot at the end and return it."""
        slot = self.size
        self.size += 1
        if self.size > self.capacity:
            self.capacity *= 2
            for column in self._columns:
                column.grow(self.capacity)
        else:
            for column in self._columns:
                column.reset_entries()
        return slot

    def remove(self, slot: int) -> int:
        """Remove a slot, move the last slot's entries there, and return the former number of the last slot."""
        self.size -= 1
        for column in self._columns:
            column.replace_by_last(slot, self.size)
            column.reset_entries()
        return self.size

    def _add(self, column: Column[DType]) -> Column[DType]:
        self._columns.add(column)  # type: ignore[arg-type]
        return column
