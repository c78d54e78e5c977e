"""Notices victims that were evicted and stay: held by a finalizer, or on a node whose kubelet does not answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock

LOOK_SECONDS = 5.0
SPARE_SECONDS = 30.0
"""What a victim may take beyond its grace period: a kubelet may be slow to kill, and to say so."""
MOST_WATCHED = 4096
"""Beyond that the longest watched are no longer looked at."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A victim, for whom it had to go, and since when."""

    victim: Pod
    preemptor: Pod
    reporter: str
    evicted_at: float
    due_at: float


class EvictedPods:
    """Keeps an eye on victims until they are gone or overdue."""

    def __init__(
        self, clock: Clock, is_there: Callable[[Pod], bool], overdue: Callable[[Evicted, float], None]
    ) -> None:
        """Call `overdue`, once, with each victim that stays and how long it has stayed, in seconds."""
        self._clock = clock
        self._is_there = is_there
        self._overdue = overdue
        self._watched: dict[str, Evicted] = {}

    def __len__(self) -> int:
        """How many victims are watched."""
        return len(self._watched)

    def add(self, victim: Pod, preemptor: Pod, reporter: str, grace_seconds: float) -> None:
        """Watch a victim that has been evicted just now and has `grace_seconds` to end."""
        now = self._clock.monotonic()
        due_at = now + grace_seconds + SPARE_SECONDS
        self._watched[victim.uid] = Evicted(victim, preemptor, reporter, now, due_at)
        if len(self._watched) > MOST_WATCHED:
            del self._watched[next(iter(self._watched))]

    async def run(self) -> None:
        """Look from time to time until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        now = self._clock.monotonic()
        for uid, evicted in list(self._watched.items()):
            if not self._is_there(evicted.victim):
                del self._watched[uid]
            elif now >= evicted.due_at:
                del self._watched[uid]
                self._overdue(evicted, now - evicted.evicted_at)
