"""A heap of pods from which any pod can be removed.

Upstream: pkg/scheduler/backend/heap/heap.go.
"""

from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter

from moorage.engine.queue.queued_pod_info import QueuedPodInfo

Key = tuple[float, ...]

SLACK = 64
"""The number of stale entries that a small heap may hold before it is rebuilt."""


class PodHeap:
    """Pods by key, smallest first. Pods with equal keys come out in the order in which they were pushed.

    `discard` leaves the pod's entry in the heap as stale. A stale entry is dropped when it reaches the top, or when the
    heap is rebuilt because more than half of its entries are stale.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[tuple[Key, int, QueuedPodInfo]] = []
        self._live: dict[str, int] = {}
        self._ticket = count()

    def __len__(self) -> int:
        """Return the number of pods."""
        return len(self._live)

    def push(self, queued: QueuedPodInfo, key: Key) -> None:
        """Add a pod. If the pod is already in the heap, replace its key."""
        ticket = next(self._ticket)
        self._live[queued.pod.uid] = ticket
        heappush(self._heap, (key, ticket, queued))
        if len(self._heap) > 2 * len(self._live) + SLACK:
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapify(self._heap)

    def discard(self, uid: str) -> None:
        """Remove a pod if it is in the heap."""
        self._live.pop(uid, None)

    def peek(self) -> tuple[Key, QueuedPodInfo] | None:
        """Return the first pod and its key, or None."""
        while self._heap and not self._is_live(self._heap[0]):
            heappop(self._heap)
        return (self._heap[0][0], self._heap[0][2]) if self._heap else None

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the first pod, or return None."""
        first = self.peek()
        if first is None:
            return None
        heappop(self._heap)
        del self._live[first[1].pod.uid]
        return first[1]

    def entries(self) -> list[tuple[Key, QueuedPodInfo]]:
        """Return all pods with their keys, first the pod that `pop` returns next."""
        return [(entry[0], entry[2]) for entry in sorted(filter(self._is_live, self._heap), key=itemgetter(0, 1))]

    def _is_live(self, entry: tuple[Key, int, QueuedPodInfo]) -> bool:
        return self._live.get(entry[2].pod.uid) == entry[1]
