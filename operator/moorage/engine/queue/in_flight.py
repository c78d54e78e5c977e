"""Pods that are being tried or bound, and what happened meanwhile.

An event that arrives during an attempt might be the one that the attempt's pod will wait for. It is kept as long as a
pod is in flight that was popped before it, and looked at when that pod comes back.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents).
"""

from collections import deque
from itertools import islice

from moorage.framework.cluster_events import ClusterEvent


class InFlight:
    """Pods by uid in the order in which they were popped, and the events since the first of them was."""

    def __init__(self) -> None:
        """Start with nothing in flight."""
        self._starts: dict[str, int] = {}
        self._events: deque[ClusterEvent] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        """Count the pods."""
        return len(self._starts)

    def __contains__(self, uid: str) -> bool:
        """Whether a pod is in flight."""
        return uid in self._starts

    @property
    def event_count(self) -> int:
        """How many events are kept."""
        return len(self._events)

    def start(self, uid: str) -> None:
        """Remember that a pod's attempt begins now."""
        self._starts[uid] = self._dropped + len(self._events)

    def record(self, event: ClusterEvent) -> None:
        """Keep an event for the pods in flight."""
        if self._starts:
            self._events.append(event)

    def events_since_start(self, uid: str) -> tuple[ClusterEvent, ...]:
        """Return what happened since the pod's attempt began."""
        return tuple(islice(self._events, self._starts[uid] - self._dropped, None))

    def done(self, uid: str) -> None:
        """Forget a pod, and the events that nobody in flight can need any more."""
        if self._starts.pop(uid, None) is None:
            return
        oldest = next(iter(self._starts.values()), self._dropped + len(self._events))
        while self._dropped < oldest:
            self._events.popleft()
            self._dropped += 1
