import asyncio
import logging
from collections import deque
from typing import Any

import pytest

from builders import node
from fakes import FakeClock, FakeObserver, running, settle
from moorage.engine.messages import Message
from moorage.engine.outcomes import Outcome
from moorage.framework.cluster_events import added
from moorage.runtime.inbox import Inbox
from moorage.runtime.scheduling_loop import IDLE_SECONDS, SLICE_SECONDS, SchedulingLoop


class FakeEngine:
    """Decides what it is told to; each decision takes some time of the clock."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.applied: list[Message] = []
        self.due: deque[Any] = deque()
        self.decision_seconds = 0.0
        self.wakeup: float | None = None
        self.ticks = 0
        self.fault: Exception | None = None

    def apply(self, message: Message, now: float) -> None:
        del now
        if self.fault:
            fault, self.fault = self.fault, None
            raise fault
        self.applied.append(message)

    def schedule_one(self, now: float) -> Outcome | None:
        del now
        self.clock.now += self.decision_seconds
        return self.due.popleft() if self.due else None

    def tick(self, now: float) -> None:
        del now
        self.ticks += 1

    def next_wakeup(self, now: float) -> float | None:
        del now
        return self.wakeup


class FakeExecutor:
    def __init__(self) -> None:
        self.is_ready = True
        self.carried_out: list[Any] = []

    def carry_out(self, outcome: Outcome, started_at: float) -> None:
        del started_at
        self.carried_out.append(outcome)


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.engine = FakeEngine(self.clock)
        self.inbox: Inbox[Message] = Inbox()
        self.executor = FakeExecutor()
        self.observer = FakeObserver()
        self.loop = SchedulingLoop(self.engine, self.inbox, self.executor, self.clock, self.observer)


def event(name: str) -> Message:
    return added("Node", node(name))


async def test_messages_are_applied_in_order_before_the_next_decision() -> None:
    bench = Bench()
    first, second = event("a"), event("b")
    bench.inbox.post(first, second)
    bench.engine.due.append("decision")
    async with running(bench.loop):
        await settle()
    assert bench.engine.applied == [first, second]
    assert bench.executor.carried_out == ["decision"]


async def test_the_event_loop_gets_its_turn_after_each_slice() -> None:
    bench = Bench()
    bench.engine.decision_seconds = 0.3 * SLICE_SECONDS
    bench.engine.due.extend(range(40))
    seen: list[int] = []

    async def somebody_else() -> None:
        while len(bench.executor.carried_out) < 40:
            seen.append(len(bench.executor.carried_out))
            await asyncio.sleep(0)

    async with running(bench.loop):
        await somebody_else()
    assert seen == list(range(0, 40, 4))


async def test_a_message_wakes_an_idle_loop() -> None:
    bench = Bench()
    async with running(bench.loop):
        await settle()
        bench.engine.due.append("late")
        bench.inbox.post(event("a"))
        await settle()
    assert bench.executor.carried_out == ["late"]


async def test_nothing_is_decided_while_the_executor_is_not_ready_but_messages_are_applied() -> None:
    bench = Bench()
    bench.executor.is_ready = False
    bench.engine.due.append("decision")
    bench.inbox.post(event("a"))
    async with running(bench.loop):
        await settle()
        assert len(bench.engine.applied) == 1
        assert not bench.executor.carried_out
        bench.executor.is_ready = True
        bench.inbox.wake()
        await settle()
    assert bench.executor.carried_out == ["decision"]


@pytest.mark.parametrize(("wakeup", "pause"), [(None, IDLE_SECONDS), (0.25, 0.25), (-1.0, 0.0), (3600.0, IDLE_SECONDS)])
def test_the_loop_sleeps_until_the_engine_has_something_to_do(wakeup: float | None, pause: float) -> None:
    bench = Bench()
    bench.engine.wakeup = None if wakeup is None else bench.clock.now + wakeup
    assert bench.loop._pause_seconds() == pytest.approx(pause)


async def test_a_fault_costs_one_message_and_not_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.engine.fault = KeyError("oops")
    bad, good = event("bad"), event("good")
    bench.inbox.post(bad, good)
    with caplog.at_level(logging.ERROR):
        async with running(bench.loop):
            await settle()
    assert bench.engine.applied == [good]
    assert bench.observer.named("fault") == [()]
    assert "goes on" in caplog.text


async def test_the_liveness_probe_sees_when_the_loop_last_came_round() -> None:
    bench = Bench()
    async with running(bench.loop):
        bench.clock.now += 5
        bench.inbox.wake()
        await settle()
        assert bench.loop.last_turn == bench.clock.now
