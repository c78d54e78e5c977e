"""Replays a run: the same engine receives the same calls, and each outcome is compared with the recorded one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from moorage.engine.engine_state import EngineState, restore
from moorage.engine.outcomes import Bind, Outcome
from moorage.engine.recorder import Recorder
from moorage.engine.scheduler import Scheduler
from moorage.recording.calls import Apply, RecordedCall, RecordedTry, ShadowAnswers, Tick
from moorage.recording.outcome_records import DECISIONS, OutcomeValue, write_outcome
from moorage.recording.recording_reader import RecordedRun


class FirstDifference(Struct, frozen=True, kw_only=True):
    """The first call whose result differs from the recorded one."""

    time: float
    """When the call was made, in seconds since the epoch."""
    decision: int
    """The number of decisions of this run before the difference."""
    expected: OutcomeValue | None
    got: OutcomeValue | None


class RunResult(Struct, kw_only=True):
    """The result of the replay of a run."""

    run: str
    moorage: str
    """The version that recorded the run."""
    seed: int
    began: float
    ended: float
    """The times of the first and of the last call, in seconds since the epoch."""
    decisions: int = 0
    """The number of attempts that ended with a decision and were compared."""
    equal: int = 0
    difference: FirstDifference | None = None
    notes: list[str] = []


Show = Callable[[int, int], None]
"""Receives the bytes that are read, and the number of decisions, now and then."""
CALLS_PER_STEP = 1000


class Replay:
    """A replay of one run."""

    def __init__(self, run: RecordedRun) -> None:
        """Prepare the replay; `run` runs it."""
        header = run.header
        self._run = run
        self._offset = header.time - header.monotonic
        self._recorder = _ReplayedAnswers()
        self.scheduler = Scheduler(header.seed, recorder=self._recorder)
        self.result = RunResult(
            run=header.run, moorage=header.moorage, seed=header.seed, began=header.time, ended=header.time
        )

    def run(self, show: Show) -> RunResult:
        """Replay all calls up to the first difference."""
        result = self.result
        for number, call in enumerate(self._run.read()):
            if isinstance(call, EngineState):
                restore(self.scheduler.parts, call)
            elif not self.make(call):
                break
            if number % CALLS_PER_STEP == 0:
                show(self._run.read_bytes, result.decisions)
        result.notes = self._run.notes
        return result

    def make(self, call: RecordedCall) -> bool:
        """Make one call; return whether its result is the recorded one."""
        if isinstance(call, RecordedTry):
            return self._try(call)
        if isinstance(call, Tick):
            self.scheduler.tick(call.now)
        elif isinstance(call, ShadowAnswers):
            self._recorder.answers.extend(call.answers)
        else:
            return self._apply(call)
        return True

    def _try(self, call: RecordedTry) -> bool:
        outcome = self.scheduler.schedule_one(call.now)
        if isinstance(outcome, Bind):
            self._run.stream.assume(outcome.pod)
        return self._compare(call.now, call.outcome, outcome)

    def _compare(self, now: float, expected: OutcomeValue | None, outcome: Outcome | None) -> bool:
        got, result = write_outcome(outcome), self.result
        result.ended = self._offset + now
        is_decision = any(value is not None and value[0] in DECISIONS for value in (expected, got))
        result.decisions += is_decision
        if got == expected:
            result.equal += is_decision
            return True
        result.difference = FirstDifference(
            time=result.ended, decision=result.decisions - is_decision, expected=expected, got=got
        )
        return False

    def _apply(self, call: Apply) -> bool:
        fault = ""
        try:
            self.scheduler.apply(call.message, call.now)
        except Exception as error:  # noqa: BLE001 - the recorded call may have raised the same
            fault = f"{type(error).__name__}: {error}"
        if fault == call.fault:
            return True
        name = type(call.message).__name__
        self.result.difference = FirstDifference(
            time=self._offset + call.now,
            decision=self.result.decisions,
            expected=[name, "", "", call.fault or "no error"],
            got=[name, "", "", fault or "no error"],
        )
        return False


class _ReplayedAnswers(Recorder):
    """A recorder that answers `may_shadow` as the recorded one did."""

    def __init__(self) -> None:
        self.answers: deque[bool] = deque()

    def may_shadow(self) -> bool:
        return self.answers.popleft() if self.answers else True
