"""Finds pods that are ready but are not tried, and logs their names.

Such a pod is the result of a bug in the queue. Without this check, the bug would stay hidden.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
STUCK_SECONDS = 120.0
"""A ready pod that is not tried for this time counts as stuck. Even in a burst, a working queue tries each pod
earlier."""
MAX_NAMES = 10
"""Largest number of pods that a check names in the log."""


class Watchdog:
    """A periodic check of the queue."""

    def __init__(self, scheduler: Scheduler, may_schedule: Callable[[], bool], clock: Clock) -> None:
        """While `may_schedule` returns False, such as on a standby replica, no pod counts as stuck."""
        self.stuck_pods = 0
        self._scheduler = scheduler
        self._may_schedule = may_schedule
        self._clock = clock

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            self.check()

    def check(self) -> None:
        """Count the stuck pods and log their names."""
        now = self._clock.monotonic()
        stuck = self._scheduler.statistics.stuck_pods(now, STUCK_SECONDS) if self._may_schedule() else {}
        self.stuck_pods = len(stuck)
        for key, seconds in list(stuck.items())[:MAX_NAMES]:
            logger.warning("Pod %s is ready and was not tried for %.0f s; /debug/cache shows the queues", key, seconds)
        if len(stuck) > MAX_NAMES:
            logger.warning(
                "%d more pods are ready and were not tried; /debug/cache shows the queues", len(stuck) - MAX_NAMES
            )
