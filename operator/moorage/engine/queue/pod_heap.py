"""A heap of waiting pods from which any pod can be taken out."""

from heapq import heapify, heappop, heappush
from itertools import count

from moorage.engine.queue.queued_pod_info import QueuedPodInfo

Key = tuple[float, ...]

SLACK = 64
"""How many dead entries are put up with before the heap is built anew."""


class PodHeap:
    """Yields pods by key, smallest first, and among equals in the order in which they came.

    A pod that is taken out leaves its entry behind; dead entries are dropped when they surface, or become too many.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[tuple[Key, int, QueuedPodInfo]] = []
        self._live: dict[str, int] = {}
        self._ticket = count()

    def __len__(self) -> int:
        """Count the pods."""
        return len(self._live)

    def push(self, queued: QueuedPodInfo, key: Key) -> None:
        """Put a pod in; one that is in already moves to its new place."""
        ticket = next(self._ticket)
        self._live[queued.pod.uid] = ticket
        heappush(self._heap, (key, ticket, queued))
        if len(self._heap) > 2 * len(self._live) + SLACK:
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapify(self._heap)

    def discard(self, uid: str) -> None:
        """Take a pod out, if it is in."""
        self._live.pop(uid, None)

    def peek(self) -> tuple[Key, QueuedPodInfo] | None:
        """Return the first pod with its key."""
        while self._heap and not self._is_live(self._heap[0]):
            heappop(self._heap)
        return (self._heap[0][0], self._heap[0][2]) if self._heap else None

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod out."""
        first = self.peek()
        if first is None:
            return None
        heappop(self._heap)
        del self._live[first[1].pod.uid]
        return first[1]

    def _is_live(self, entry: tuple[Key, int, QueuedPodInfo]) -> bool:
        return self._live.get(entry[2].pod.uid) == entry[1]
