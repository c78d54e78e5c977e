"""Notices pods that are ready and that nobody tries, and names them: a fault of the queue must not go unseen."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

LOOK_SECONDS = 30.0
STUCK_SECONDS = 120.0
"""Longer than any burst takes in which the pod's turn simply has not come."""
NAMED = 10
"""How many pods the log names at most, each time."""


class Watchdog:
    """Looks at the queue now and then."""

    def __init__(self, scheduler: Scheduler, may_schedule: Callable[[], bool], clock: Clock) -> None:
        """Nothing is stuck while this replica must not schedule."""
        self.stuck_pods = 0
        self._scheduler = scheduler
        self._may_schedule = may_schedule
        self._clock = clock

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Count the stuck pods, and name them in the log."""
        now = self._clock.monotonic()
        stuck = self._scheduler.statistics.stuck_pods(now, STUCK_SECONDS) if self._may_schedule() else {}
        self.stuck_pods = len(stuck)
        for key, seconds in list(stuck.items())[:NAMED]:
            logger.warning("Pod %s is ready and was not tried for %.0f s; /debug/cache shows the queues", key, seconds)
        if len(stuck) > NAMED:
            logger.warning("%d more pods were not tried either", len(stuck) - NAMED)
