"""Pods that wait for the end of their backoff. Each failed attempt doubles the backoff, up to a maximum.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go. A backoff ends on a whole second, so that pods whose backoff
ends in the same second come out by priority.
"""

from collections.abc import Iterable, Mapping
from math import floor

from moorage.engine.queue.pod_heap import Key, PodHeap
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.framework.profile import Profile, ProfileSettings

DEFAULT_SETTINGS = ProfileSettings()
"""The settings for pods whose profile has just been removed."""
MAX_DOUBLINGS = 62
"""The largest exponent of 2. The backoff then stays finite, and longer than any maximum that a profile may set."""


class BackoffQueue:
    """Two heaps: one of pods after a rejection, which `pop_early` may return, and one of pods after an error."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """Read the backoff settings from `profiles`, a live mapping."""
        self._profiles = profiles
        self._rejected = PodHeap()
        self._errors = PodHeap()

    def expiry(self, queued: QueuedPodInfo) -> float:
        """Return the second in which the pod's backoff ends."""
        settings = self._settings_of(queued)
        doubled = settings.initial_backoff_seconds * 2.0 ** min(queued.backoff_count - 1, MAX_DOUBLINGS)
        return floor(queued.queued_at + min(doubled, settings.max_backoff_seconds))

    def is_backing_off(self, queued: QueuedPodInfo, now: float) -> bool:
        """Return whether the pod's backoff has not ended. A pod without a failed attempt has no backoff."""
        if not queued.backoff_count or not self._settings_of(queued).max_backoff_seconds:
            return False
        return self.expiry(queued) >= floor(now)

    def push(self, queued: QueuedPodInfo) -> None:
        """Add a pod until its backoff ends."""
        queued.queue = QueueType.BACKOFF
        profile = self._profiles.get(queued.pod.scheduler_name)
        order = profile.queue_sort.sort_key(queued.pod, queued.queued_at) if profile else ()
        (self._errors if queued.has_error else self._rejected).push(queued, (self.expiry(queued), *order))

    def discard(self, uid: str) -> None:
        """Remove a pod if it is in the queue."""
        self._rejected.discard(uid)
        self._errors.discard(uid)

    def pop_early(self) -> QueuedPodInfo | None:
        """Remove and return the first of the rejected pods, even before its backoff ends."""
        return self._rejected.pop()

    def pop_expired(self, now: float) -> QueuedPodInfo | None:
        """Remove and return a pod whose backoff has ended."""
        for heap in (self._rejected, self._errors):
            first = heap.peek()
            if first is not None and first[0][0] < floor(now):
                return heap.pop()
        return None

    def next_expiry(self) -> float | None:
        """Return the earliest time at which `pop_expired` returns a pod, in seconds; None for an empty queue."""
        ends = [first[0][0] + 1 for heap in (self._rejected, self._errors) if (first := heap.peek()) is not None]
        return min(ends, default=None)

    def entries(self) -> tuple[list[tuple[Key, QueuedPodInfo]], list[tuple[Key, QueuedPodInfo]]]:
        """Return the entries of both heaps: first rejected pods, then pods after an error."""
        return self._rejected.entries(), self._errors.entries()

    def restore(
        self, rejected: Iterable[tuple[Key, QueuedPodInfo]], errors: Iterable[tuple[Key, QueuedPodInfo]]
    ) -> None:
        """Add the entries of an earlier queue."""
        for heap, entries in ((self._rejected, rejected), (self._errors, errors)):
            for key, queued in entries:
                heap.push(queued, key)

    @property
    def may_pop_early(self) -> bool:
        """Whether `pop_early` would return a pod."""
        return len(self._rejected) > 0

    def _settings_of(self, queued: QueuedPodInfo) -> ProfileSettings:
        profile = self._profiles.get(queued.pod.scheduler_name)
        return profile.settings if profile else DEFAULT_SETTINGS
