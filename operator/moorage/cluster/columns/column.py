"""Columns: arrays with one entry a node slot, which grow and shrink together.

Slots are dense: 0 up to the number of nodes. When a node goes, the last slot's entries move into its place, so every
column is contiguous at all times and what is read is a slice of what is written, never a copy.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

DType = TypeVar("DType", bound=np.generic)

_FIRST_CAPACITY = 16  # enough for a laptop's cluster; doubled whenever it is used up


class Column(Generic[DType]):
    """One array over all slots, filled with `empty` where nothing was written.

    Write to `data[slot]`; read `view`, which is read-only and ends at the last node.
    """

    __slots__ = ("_slots", "_view", "data", "empty")

    def __init__(self, slots: Slots, dtype: type[DType], empty: int) -> None:
        self.empty = empty
        self.data: npt.NDArray[DType] = np.full(slots.capacity, empty, dtype=dtype)
        self._slots = slots
        self._view: npt.NDArray[DType] | None = None

    @property
    def view(self) -> npt.NDArray[DType]:
        """The live entries of all nodes, not to be written."""
        if self._view is None:
            self._view = self.data[: self._slots.size]
            self._view.flags.writeable = False
        return self._view

    def grow(self, capacity: int) -> None:
        """Make room for more slots."""
        grown = np.full(capacity, self.empty, dtype=self.data.dtype)
        grown[: len(self.data)] = self.data
        self.data = grown
        self._view = None

    def resized(self) -> None:
        """Take note that the number of nodes is another."""
        self._view = None

    def take_place(self, slot: int, last: int) -> None:
        """Move the entry of the last slot to `slot`, and empty the last one."""
        self.data[slot] = self.data[last]
        self.data[last] = self.empty


class Slots:
    """How many slots there are, and the columns that hang on them."""

    def __init__(self) -> None:
        self.size = 0
        self.capacity = _FIRST_CAPACITY
        self._columns: set[Column[np.generic]] = set()

    def integers(self) -> Column[np.int64]:
        """Add a column of counts or amounts, zero so far."""
        return self._add(Column(self, np.int64, 0))

    def flags(self) -> Column[np.bool_]:
        """Add a column of flags, all false so far."""
        return self._add(Column(self, np.bool_, 0))

    def ids(self) -> Column[np.int32]:
        """Add a column of ids, all ABSENT so far."""
        return self._add(Column(self, np.int32, -1))

    def discard(self, column: Column[DType]) -> None:
        """Drop a column that nobody reads any more."""
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
                column.resized()
        return slot

    def remove(self, slot: int) -> int:
        """Remove a slot; the last one takes its place. Return which slot that was."""
        self.size -= 1
        for column in self._columns:
            column.take_place(slot, self.size)
            column.resized()
        return self.size

    def _add(self, column: Column[DType]) -> Column[DType]:
        self._columns.add(column)  # type: ignore[arg-type]
        return column
