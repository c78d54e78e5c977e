"""The column of the lowest pod priority on each node, by which preemption finds nodes with possible victims."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from moorage.cluster.arrays import IntArray
    from moorage.cluster.columns.column import Slots
    from moorage.model.pods.pod import Pod


class PriorityColumn:
    """The lowest priority of the pods on each node."""

    def __init__(self, slots: Slots) -> None:
        self._lowest = slots.add_integers()

    def add(self, pod: Pod, slot: int, pods: Collection[Pod]) -> None:
        """Update the slot for a new pod; `pods` are all pods on the node, including the new one."""
        if len(pods) == 1 or pod.priority < self._lowest.data[slot]:
            self._lowest.data[slot] = pod.priority

    def remove(self, pod: Pod, slot: int, pods: Collection[Pod]) -> None:
        """Update the slot for a removed pod; `pods` are the remaining pods on the node."""
        if pods and pod.priority == self._lowest.data[slot]:
            self._lowest.data[slot] = min(other.priority for other in pods)

    @property
    def lowest(self) -> IntArray:
        """The lowest priority of the pods on each node; undefined for a node without pods."""
        return self._lowest.entries
