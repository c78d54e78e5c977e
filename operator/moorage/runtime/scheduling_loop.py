"""The scheduling loop: the only one who touches scheduling state.

It drains the inbox, lets the engine decide while there is work, and hands outcomes to those who carry them out. It
yields to the event loop after each slice of time, so that watches, binds and probes go on while pods are scheduled.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from moorage.engine.messages import Message
    from moorage.engine.outcomes import Outcome
    from moorage.runtime.clock import Clock
    from moorage.runtime.inbox import Inbox

logger = logging.getLogger(__name__)

SLICE_SECONDS = 0.005
"""How long the loop may keep the event loop: about what a bind's answer may wait unnoticed."""
IDLE_SECONDS = 1.0
"""The longest wait without work: backoffs end on whole seconds, and leadership may come."""


class Engine(Protocol):
    """`moorage.engine.scheduler.Scheduler`, as far as the loop drives it."""

    def apply(self, message: Message, now: float) -> None:
        """Take in one thing that happened."""

    def schedule_one(self, now: float) -> Outcome | None:
        """Try the pod that is due."""

    def tick(self, now: float) -> None:
        """Let time pass."""

    def next_wakeup(self, now: float) -> float | None:
        """Say when `tick` next has something to do."""


class Executor(Protocol):
    """Carries outcomes out, without ever waiting."""

    @property
    def is_ready(self) -> bool:
        """Whether another pod may be tried: we lead, everything is known, and there is room for another bind."""

    def carry_out(self, outcome: Outcome, started_at: float) -> None:
        """Do what the outcome asks for; the attempt began at `started_at`, on the monotonic clock."""


class LoopObserver(Protocol):
    """Is told what the loop does, for metrics."""

    def observe_message(self, message: Message, seconds: float) -> None:
        """Count a message that was applied."""

    def observe_decision(self, seconds: float) -> None:
        """Count what the engine took for one pod."""

    def observe_fault(self) -> None:
        """Count an error that should not have happened."""


class SchedulingLoop:
    """Drives the engine."""

    def __init__(
        self, engine: Engine, inbox: Inbox[Message], executor: Executor, clock: Clock, observer: LoopObserver
    ) -> None:
        """Nothing happens before `run`."""
        self._engine = engine
        self._inbox = inbox
        self._executor = executor
        self._clock = clock
        self._observer = observer
        self.last_turn = clock.monotonic()
        """When the loop last came round, on the monotonic clock; the liveness probe looks at it."""

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            self.last_turn = self._clock.monotonic()
            try:
                is_busy = self._turn()
            except Exception:  # the border of the loop: one bad object must not stop the scheduling of all others
                logger.exception("The scheduling loop met an unforeseen fault and goes on")
                self._observer.observe_fault()
                is_busy = False
            if is_busy:
                await asyncio.sleep(0)
            else:
                await self._inbox.wait(self._pause_seconds())

    def _turn(self) -> bool:
        """Work for one slice of time; return whether there is more to do."""
        until = self._clock.monotonic() + SLICE_SECONDS
        self._take_in()
        self._engine.tick(self._clock.monotonic())
        while self._executor.is_ready:
            started = self._clock.monotonic()
            if started >= until:
                return True
            outcome = self._engine.schedule_one(started)
            if outcome is None:
                return len(self._inbox) > 0
            self._observer.observe_decision(self._clock.monotonic() - started)
            self._executor.carry_out(outcome, started)
            if len(self._inbox):
                self._take_in()
        return len(self._inbox) > 0

    def _take_in(self) -> None:
        messages = self._inbox.drain()
        for index, message in enumerate(messages):
            try:
                self._apply(message)
            except BaseException:
                self._inbox.post_all(messages[index + 1 :])
                raise

    def _apply(self, message: Message) -> None:
        started = self._clock.monotonic()
        self._engine.apply(message, started)
        self._observer.observe_message(message, self._clock.monotonic() - started)

    def _pause_seconds(self) -> float:
        now = self._clock.monotonic()
        wakeup = self._engine.next_wakeup(now)
        if wakeup is None or not self._executor.is_ready:
            return IDLE_SECONDS
        return min(max(wakeup - now, 0.0), IDLE_SECONDS)
