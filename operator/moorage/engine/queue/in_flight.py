"""Pods in flight, and the events since their attempts began.

An event that arrives during an attempt may make the attempt's pod schedulable. The queue keeps the event until the
attempts of all pods that were popped before the event have ended. If such a pod comes back as unschedulable, the event
may requeue it.

Upstream: pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents).
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from moorage.framework.cluster_events import ClusterEvent


class InFlight:
    """The uids of the pods in flight, in the order of their attempts, and the events since the first attempt began."""

    def __init__(self) -> None:
        """Start with no pod in flight."""
        self._starts: dict[str, int] = {}
        self._events: deque[ClusterEvent] = deque()
        self._dropped = 0

    def __contains__(self, uid: str) -> bool:
        """Return whether a pod is in flight."""
        return uid in self._starts

    def start(self, uid: str) -> None:
        """Add a pod whose attempt begins now."""
        self._starts[uid] = self._dropped + len(self._events)

    def record(self, event: ClusterEvent) -> None:
        """Keep an event for the pods in flight."""
        if self._starts:
            self._events.append(event)

    def events_since_start(self, uid: str) -> tuple[ClusterEvent, ...]:
        """Return the events since the pod's attempt began."""
        return tuple(islice(self._events, self._starts[uid] - self._dropped, None))

    def state(self) -> tuple[list[tuple[str, int]], list[ClusterEvent]]:
        """Return the uids, each with the number of events from before its attempt, and the events."""
        return [(uid, start - self._dropped) for uid, start in self._starts.items()], list(self._events)

    def restore(self, starts: Iterable[tuple[str, int]], events: Iterable[ClusterEvent]) -> None:
        """Set the fields to the values that `state` has returned."""
        self._starts = dict(starts)
        self._events = deque(events)

    def done(self, uid: str) -> None:
        """Remove a pod, and the events that no other pod in flight needs."""
        if self._starts.pop(uid, None) is None:
            return
        oldest = next(iter(self._starts.values()), self._dropped + len(self._events))
        while self._dropped < oldest:
            self._events.popleft()
            self._dropped += 1
