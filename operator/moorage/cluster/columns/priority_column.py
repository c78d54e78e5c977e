"""The lowest priority on each node: preemption looks only at nodes that have somebody to evict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from moorage.cluster.arrays import IntArray
    from moorage.cluster.columns.column import Slots
    from moorage.model.pods.pod import Pod


class PriorityColumn:
    """Follows pods as they come and go."""

    def __init__(self, slots: Slots) -> None:
        self._lowest = slots.integers()

    def add(self, pod: Pod, slot: int, pods: Collection[Pod]) -> None:
        """Take note of a pod; `pods` are all on the node, the new one included."""
        if len(pods) == 1 or pod.priority < self._lowest.data[slot]:
            self._lowest.data[slot] = pod.priority

    def remove(self, pod: Pod, slot: int, pods: Collection[Pod]) -> None:
        """Take note that a pod has left the others alone."""
        if pods and pod.priority == self._lowest.data[slot]:
            self._lowest.data[slot] = min(other.priority for other in pods)

    @property
    def lowest(self) -> IntArray:
        """The lowest priority of the pods on each node; without meaning where a node has none."""
        return self._lowest.view
