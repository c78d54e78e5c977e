"""Finds evicted pods that do not terminate, because of a finalizer or a kubelet that does not respond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.engine.messages import TryAgain
from moorage.runtime.events.event import preemption_failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.events.event_recorder import EventRecorder
    from moorage.runtime.latest_objects import LatestObjects

CHECK_SECONDS = 5.0
SPARE_SECONDS = 30.0
"""The time that a victim may take in addition to its grace period. A kubelet needs time to kill the pod and to report
its end."""
MAX_WATCHED = 4096
"""The number of watched pods. If there are more, the oldest entry is dropped."""


class EvictedPods:
    """Evicted pods that still exist."""

    def __init__(
        self, latest: LatestObjects, recorder: EventRecorder, post: Callable[[TryAgain], None], clock: Clock
    ) -> None:
        """Report overdue pods to `recorder`, and post `TryAgain` for their preemptors."""
        self._latest = latest
        self._recorder = recorder
        self._post = post
        self._clock = clock
        self._evicted: dict[str, _EvictedPod] = {}

    def __len__(self) -> int:
        """Return the number of watched pods."""
        return len(self._evicted)

    def add(self, victim: Pod, preemptor: Pod, reporter: str, grace_seconds: float) -> None:
        """Watch a pod that was evicted now and has `grace_seconds` to terminate."""
        now = self._clock.monotonic()
        due_at = now + grace_seconds + SPARE_SECONDS
        self._evicted[victim.uid] = _EvictedPod(victim, preemptor, reporter, now, due_at)
        if len(self._evicted) > MAX_WATCHED:
            del self._evicted[next(iter(self._evicted))]

    async def run(self) -> None:
        """Check every CHECK_SECONDS until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            self._check()

    def _check(self) -> None:
        now = self._clock.monotonic()
        for uid, evicted in list(self._evicted.items()):
            if not self._latest.exists(evicted.victim):
                del self._evicted[uid]
            elif now >= evicted.due_at:
                del self._evicted[uid]
                self._report_overdue(evicted, now - evicted.evicted_at)

    def _report_overdue(self, evicted: _EvictedPod, seconds: float) -> None:
        victim = evicted.victim
        note = (
            f"Pod {victim.key} was evicted from node {victim.node_name} {seconds:.0f} s ago and still exists; "
            "check its finalizers and the node's kubelet"
        )
        self._recorder.record(preemption_failed(evicted.preemptor, note, evicted.reporter))
        self._post(TryAgain(evicted.preemptor.uid))


@dataclass(frozen=True, slots=True)
class _EvictedPod:
    """An evicted pod and its preemptor. Times are on the monotonic clock."""

    victim: Pod
    preemptor: Pod
    reporter: str
    evicted_at: float
    due_at: float
