import asyncio
import logging
from collections import deque

import pytest

from builders import node, pod
from fakes import FakeClock, running, settle
from moorage.engine.messages import LeadershipStarted, Message
from moorage.engine.outcomes import Outcome, Skipped
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.decision_record import DecisionOutcome
from moorage.engine.records.stored_record import Moment, StoredRecord, record_of
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.runtime.inbox import Inbox
from moorage.runtime.scheduling_loop import IDLE_SECONDS, SLICE_SECONDS, SUMMARIES, SchedulingLoop
from runtime_parts import GOLD, RuntimeParts
from scrape import sample


class FakeScheduler(Scheduler):
    """A scheduler that returns the test's outcomes. Each decision takes `decision_seconds` on the clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(seed=1, log=DecisionLog())
        self.clock = clock
        self.applied: list[Message] = []
        self.due: deque[Outcome] = deque()
        self.decision_seconds = 0.0
        self.wakeup: float | None = None
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

    def next_wakeup(self, now: float) -> float | None:
        del now
        return self.wakeup


class Bench(RuntimeParts):
    """A loop with a fake scheduler. The recorder's notes show which outcomes were carried out."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = FakeScheduler(self.clock)
        self.inbox: Inbox[Message] = Inbox()
        self.loop = SchedulingLoop(self.scheduler, self.inbox, self.router, self.clock, self.metrics.scheduling)

    @property
    def carried_out(self) -> list[str]:
        return self.recorder.notes


def outcome(name: str) -> Outcome:
    return Skipped(pod=pod("p"), profile=GOLD, message=name)


def event(name: str) -> Message:
    return added("Node", node(name))


async def test_messages_are_applied_in_order_before_the_next_decision() -> None:
    bench = Bench()
    first, second = event("a"), event("b")
    bench.inbox.post(first, second)
    bench.scheduler.due.append(outcome("decision"))
    async with running(bench.loop):
        await settle()
    assert bench.scheduler.applied == [first, second]
    assert bench.carried_out == ["decision"]


async def test_other_tasks_run_after_each_slice() -> None:
    bench = Bench()
    bench.scheduler.decision_seconds = 0.3 * SLICE_SECONDS
    bench.scheduler.due.extend(outcome(f"{number}") for number in range(40))
    seen: list[int] = []

    async def other_task() -> None:
        while len(bench.carried_out) < 40:
            seen.append(len(bench.carried_out))
            await asyncio.sleep(0)

    async with running(bench.loop):
        await other_task()
    assert seen == list(range(0, 40, 4))


async def test_a_message_wakes_an_idle_loop() -> None:
    bench = Bench()
    async with running(bench.loop):
        await settle()
        bench.scheduler.due.append(outcome("late"))
        bench.inbox.post(event("a"))
        await settle()
    assert bench.carried_out == ["late"]


async def test_a_standby_applies_messages_and_decides_nothing() -> None:
    bench = Bench()
    bench.leads = False
    bench.scheduler.due.append(outcome("decision"))
    bench.inbox.post(event("a"))
    async with running(bench.loop):
        await settle()
        assert len(bench.scheduler.applied) == 1
        assert not bench.carried_out
        bench.leads = True
        bench.inbox.post(LeadershipStarted())
        await settle()
    assert bench.carried_out == ["decision"]


@pytest.mark.parametrize(("wakeup", "pause"), [(None, IDLE_SECONDS), (0.25, 0.25), (-1.0, 0.0), (3600.0, IDLE_SECONDS)])
def test_the_loop_sleeps_until_the_scheduler_has_work(wakeup: float | None, pause: float) -> None:
    bench = Bench()
    bench.scheduler.wakeup = None if wakeup is None else bench.clock.now + wakeup
    assert bench.loop._pause_seconds() == pytest.approx(pause)


async def test_a_bug_loses_only_one_message_and_does_not_stop_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.scheduler.fault = KeyError("oops")
    reported: list[Exception] = []
    bench.loop.report_fault = reported.append
    bad, good = event("bad"), event("good")
    bench.inbox.post(bad, good)
    with caplog.at_level(logging.ERROR):
        async with running(bench.loop):
            await settle()
    assert bench.scheduler.applied == [good]
    assert sample(bench.metrics, "moorage_loop_faults_total") == 1
    assert "continues after a bug" in caplog.text
    assert [str(fault) for fault in reported] == ["'oops'"]


async def test_the_liveness_probe_reads_when_the_last_turn_of_the_loop_began() -> None:
    bench = Bench()
    async with running(bench.loop):
        bench.clock.now += 5
        bench.inbox.post(LeadershipStarted())
        await settle()
        assert bench.loop.last_turn == bench.clock.now


async def test_an_idle_loop_summarizes_decisions() -> None:
    bench = Bench()
    log = bench.scheduler.decisions
    assert log is not None
    for number in range(SUMMARIES + 1):
        record = record_of(pod(f"p{number}"), GOLD, Moment(seed=1, cycle=number, at=0.0), DecisionOutcome.ERROR)
        log.add(StoredRecord(record))
    async with running(bench.loop):
        await settle()
    assert not log.has_new
