"""The scheduling loop: the only code that changes scheduling state.

The loop applies the messages of the inbox, lets the engine try pods while any are ready, and passes outcomes to the
router. After each slice of time the loop yields to the event loop, so that watches, bindings and probes continue while
pods are scheduled.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.messages import Message
    from moorage.engine.scheduler import Scheduler
    from moorage.runtime.clock import Clock
    from moorage.runtime.inbox import Inbox
    from moorage.runtime.metrics.scheduling_metrics import SchedulingMetrics
    from moorage.runtime.outcome_router import OutcomeRouter

logger = logging.getLogger(__name__)

SLICE_SECONDS = 0.005
"""Longest time that the loop occupies the event loop. Answers to bindings wait at most this long."""
SUMMARIES = 100
"""The number of decisions that an idle loop summarizes for `moorage why` in one turn. This takes about 3 ms."""
IDLE_SECONDS = 1.0
"""The longest wait of an idle loop. After the wait, the loop notices that backoffs have ended, or that the replica has
become leader."""


class SchedulingLoop:
    """The loop that drives the engine."""

    def __init__(
        self,
        scheduler: Scheduler,
        inbox: Inbox[Message],
        router: OutcomeRouter,
        clock: Clock,
        metrics: SchedulingMetrics,
    ) -> None:
        """Prepare the loop; `run` starts it."""
        self._scheduler = scheduler
        self._inbox = inbox
        self._router = router
        self._clock = clock
        self._metrics = metrics
        self.last_turn = clock.monotonic()
        """Start of the last turn, on the monotonic clock; the liveness probe reads it."""

        self.report_fault: Callable[[Exception], None] = _ignore
        """Receives each exception that the loop has survived."""

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            self.last_turn = self._clock.monotonic()
            try:
                is_busy = self._turn()
            except Exception as fault:  # one bad object must not stop all scheduling
                logger.exception("The scheduling loop continues after a bug; please report it")
                self._metrics.observe_fault()
                self.report_fault(fault)
                is_busy = False
            if is_busy or self._summarize_decisions():
                await asyncio.sleep(0)
            else:
                await self._inbox.wait(self._pause_seconds())

    def _turn(self) -> bool:
        """Work for at most SLICE_SECONDS; return whether there is more to do."""
        until = self._clock.monotonic() + SLICE_SECONDS
        self._apply_messages()
        self._scheduler.tick(self._clock.monotonic())
        while self._router.is_ready:
            started = self._clock.monotonic()
            if started >= until:
                return True
            outcome = self._scheduler.schedule_one(started)
            if outcome is None:
                return len(self._inbox) > 0
            self._metrics.observe_decision(self._clock.monotonic() - started)
            self._router.carry_out(outcome, started)
            if len(self._inbox):
                self._apply_messages()
        return len(self._inbox) > 0

    def _summarize_decisions(self) -> bool:
        """Summarize some new decisions while the loop is idle; return whether more are left."""
        log = self._scheduler.decisions
        if log is None or not log.has_new:
            return False
        log.summarize(SUMMARIES)
        return log.has_new

    def _apply_messages(self) -> None:
        """Apply all messages of the inbox. If a message raises an error, put the messages after it back."""
        messages = self._inbox.drain()
        for index, message in enumerate(messages):
            try:
                self._apply(message)
            except BaseException:
                self._inbox.post_all(messages[index + 1 :])
                raise

    def _apply(self, message: Message) -> None:
        started = self._clock.monotonic()
        self._scheduler.apply(message, started)
        self._metrics.observe_message(message, self._clock.monotonic() - started)

    def _pause_seconds(self) -> float:
        now = self._clock.monotonic()
        wakeup = self._scheduler.next_wakeup(now)
        if wakeup is None or not self._router.is_ready:
            return IDLE_SECONDS
        return min(max(wakeup - now, 0.0), IDLE_SECONDS)


def _ignore(fault: Exception) -> None:
    """Do nothing: the loop has logged the fault."""
    del fault
