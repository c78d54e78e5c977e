"""Columns of allocatable and requested amounts of resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.resources import CPU, MEMORY, PODS, Resources

if TYPE_CHECKING:
    import numpy as np

    from moorage.cluster.arrays import IntArray
    from moorage.cluster.columns.column import Column, Slots
    from moorage.model.pods.pod import Pod

_DEFAULTED = frozenset({CPU, MEMORY})
"""Resources for which scoring assumes default requests. For other resources, scoring uses the requests as they are."""


class ResourceColumns:
    """The allocatable, the requested and the non-zero requested amounts, in one column for each resource."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._allocatable: dict[str, Column[np.int64]] = {}
        self._requested: dict[str, Column[np.int64]] = {}
        self._non_zero = {name: slots.add_integers() for name in _DEFAULTED}
        self._nothing = slots.add_integers()
        self._pods = slots.add_integers()

    def set_allocatable(self, slot: int, resources: Resources) -> None:
        """Replace the allocatable amounts of a node."""
        for column in self._allocatable.values():
            column.data[slot] = 0
        for name, amount in resources.amounts:
            self._column(self._allocatable, name).data[slot] = amount

    def add(self, pod: Pod, slot: int) -> None:
        """Add the requests of a pod."""
        self._pods.data[slot] += 1
        for name, amount in pod.requests.amounts:
            if amount:
                self._column(self._requested, name).data[slot] += amount
        for name, amount in pod.non_zero_requests.amounts:
            if name in _DEFAULTED:
                self._non_zero[name].data[slot] += amount

    def remove(self, pod: Pod, slot: int) -> None:
        """Subtract the requests of a pod that was added."""
        self._pods.data[slot] -= 1
        for name, amount in pod.requests.amounts:
            if not amount:
                continue
            column = self._requested[name]
            column.data[slot] -= amount
            if name not in _DEFAULTED and not column.data[slot] and not column.entries.any():
                self._slots.discard(column)  # pods can name any number of resources
                del self._requested[name]
        for name, amount in pod.non_zero_requests.amounts:
            if name in _DEFAULTED:
                self._non_zero[name].data[slot] -= amount

    def allocatable(self, name: str) -> IntArray:
        """Return the allocatable amounts of a resource."""
        return self._allocatable.get(name, self._nothing).entries

    def requested(self, name: str) -> IntArray:
        """Return the amounts of a resource that placed pods request."""
        return self._requested.get(name, self._nothing).entries

    def non_zero_requested(self, name: str) -> IntArray:
        """Return the requested amounts for scoring; a missing request of cpu or memory counts as a default amount."""
        return self._non_zero[name].entries if name in _DEFAULTED else self.requested(name)

    @property
    def allowed_pods(self) -> IntArray:
        """The allocatable number of pods."""
        return self.allocatable(PODS)

    @property
    def pod_count(self) -> IntArray:
        """Number of placed pods on each node."""
        return self._pods.entries

    def _column(self, columns: dict[str, Column[np.int64]], name: str) -> Column[np.int64]:
        column = columns.get(name)
        if column is None:
            column = columns[name] = self._slots.add_integers()
        return column
