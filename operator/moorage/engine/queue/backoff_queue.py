"""Pods that are worth another attempt, but not yet: each failed attempt doubles the wait.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go. Waits end on whole seconds, so that pods whose waits end within
the same second come out by priority.
"""

from collections.abc import Mapping
from math import floor

from moorage.engine.queue.pod_heap import PodHeap
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.framework.profile import Profile, ProfileSettings

DEFAULT_SETTINGS = ProfileSettings()
"""For pods whose profile has just been removed."""


class BackoffQueue:
    """Two heaps: pods that were rejected, and pods whose attempt failed; only the former may be taken early."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """Watch `profiles`, a live mapping, for the lengths of waits."""
        self._profiles = profiles
        self._rejected = PodHeap()
        self._failed = PodHeap()

    def __len__(self) -> int:
        """Count the pods."""
        return len(self._rejected) + len(self._failed)

    def expiry(self, queued: QueuedPodInfo) -> float:
        """Return the second in which the pod's wait ends."""
        profile = self._profiles.get(queued.pod.scheduler_name)
        settings = profile.settings if profile else DEFAULT_SETTINGS
        doubled = settings.initial_backoff_seconds * 2.0 ** min(queued.backoff_count - 1, 62)
        return floor(queued.queued_at + min(doubled, settings.max_backoff_seconds))

    def is_backing_off(self, queued: QueuedPodInfo, now: float) -> bool:
        """Whether the pod has to wait. A pod that was never tried does not."""
        if not queued.backoff_count or not self._maximum(queued):
            return False
        return self.expiry(queued) >= floor(now)

    def push(self, queued: QueuedPodInfo) -> None:
        """Put a pod in until its wait ends."""
        queued.place = QueueType.BACKOFF
        profile = self._profiles.get(queued.pod.scheduler_name)
        order = profile.queue_sort.sort_key(queued.pod, queued.queued_at) if profile else ()
        (self._failed if queued.has_failed else self._rejected).push(queued, (self.expiry(queued), *order))

    def discard(self, uid: str) -> None:
        """Take a pod out, if it is in."""
        self._rejected.discard(uid)
        self._failed.discard(uid)

    def pop_early(self) -> QueuedPodInfo | None:
        """Take the best of the rejected pods out, whether or not its wait is over."""
        return self._rejected.pop()

    def pop_expired(self, now: float) -> QueuedPodInfo | None:
        """Take out a pod whose wait is over."""
        for heap in (self._rejected, self._failed):
            first = heap.peek()
            if first is not None and first[0][0] < floor(now):
                return heap.pop()
        return None

    def next_expiry(self) -> float | None:
        """Return when the next wait is over."""
        ends = [first[0][0] + 1 for heap in (self._rejected, self._failed) if (first := heap.peek()) is not None]
        return min(ends, default=None)

    @property
    def may_pop_early(self) -> bool:
        """Whether `pop_early` would find a pod."""
        return len(self._rejected) > 0

    def _maximum(self, queued: QueuedPodInfo) -> float:
        profile = self._profiles.get(queued.pod.scheduler_name)
        return (profile.settings if profile else DEFAULT_SETTINGS).max_backoff_seconds
