"""Replays a segment: an engine with the same state receives the same calls, and each outcome is compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from moorage.engine.engine_state import restore
from moorage.engine.outcomes import Bind, Outcome
from moorage.engine.recorder import Recorder
from moorage.engine.scheduler import Scheduler
from moorage.framework.registry import Registry
from moorage.recording.calls import Apply, RecordedCall, RecordedTry, ShadowAnswers, Tick
from moorage.recording.outcome_records import DECISIONS, OutcomeValue, write_outcome
from moorage.recording.policy_comparison import ComparedPolicies, PolicyComparison
from moorage.recording.recording_reader import RecordedSegment
from moorage.recording.segment_file import EmptySegment, SegmentHeader

Show = Callable[[int, int], None]
"""Receives the number of bytes of a segment that are read, and the number of its decisions. Called from time to
time."""
CALLS_PER_STEP = 1000


class FirstDifference(Struct, frozen=True, kw_only=True):
    """The first call whose result differs from the recorded result."""

    time: float
    """When the call was made, in seconds since the epoch."""
    expected: OutcomeValue | None
    got: OutcomeValue | None


class SegmentResult(Struct, kw_only=True):
    """The result of the replay of a segment. The replay ends with the first difference."""

    path: str
    header: SegmentHeader
    ended: float
    """The time of the last call, in seconds since the epoch."""
    decisions: int = 0
    """The number of attempts that ended with a decision and were compared."""
    difference: FirstDifference | None = None
    is_cut_off: bool = False
    policies: ComparedPolicies | None = None
    """The comparison with other policies; None without such policies."""


class Replay:
    """A replay of one segment."""

    def __init__(self, segment: RecordedSegment, comparison: PolicyComparison | None = None) -> None:
        """Prepare the replay; `run` runs it. `comparison` decides for the same pods by other policies."""
        header = segment.header
        self._segment = segment
        self._comparison = comparison
        self._offset = header.time - header.monotonic
        self._recorder = _ReplayedAnswers()
        self.scheduler = Scheduler(header.seed, recorder=self._recorder)
        self.result = SegmentResult(
            path=str(segment.path),
            header=header,
            ended=header.time,
            policies=comparison.found if comparison else None,
        )

    def run(self, show: Show) -> SegmentResult:
        """Replay all calls up to the first difference."""
        result = self.result
        try:
            state = self._segment.state()
        except EmptySegment:
            result.is_cut_off = True
            return result
        restore(self.scheduler.parts, state)
        for number, call in enumerate(self._segment.calls()):
            if not self._make(call):
                break
            if number % CALLS_PER_STEP == 0:
                show(self._segment.read_bytes, result.decisions)
        result.is_cut_off = self._segment.is_cut_off
        return result

    def _make(self, call: RecordedCall) -> bool:
        """Make one call; return whether its result equals the recorded result."""
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
        self.result.ended = self._offset + call.now
        if self._comparison is not None and _decides(call.outcome):
            self._comparison.decide(self.scheduler, call, self.result.ended)
        outcome = self.scheduler.schedule_one(call.now)
        if isinstance(outcome, Bind):
            self._segment.assume(outcome.pod)
        return self._compare(call.outcome, outcome)

    def _compare(self, expected: OutcomeValue | None, outcome: Outcome | None) -> bool:
        got, result = write_outcome(outcome), self.result
        result.decisions += _decides(expected) or _decides(got)
        if got == expected:
            return True
        result.difference = FirstDifference(time=result.ended, expected=expected, got=got)
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
            expected=[name, "", "", call.fault or "no error"],
            got=[name, "", "", fault or "no error"],
        )
        return False


def replay_segment(
    path: Path, registry: Registry, comparison: PolicyComparison | None = None, show: Show = lambda *_: None
) -> SegmentResult:
    """Replay a segment file. Raise UnusableRecording if the file is damaged."""
    with closing(RecordedSegment(path, registry)) as segment:
        return Replay(segment, comparison).run(show)


def _decides(value: OutcomeValue | None) -> bool:
    return value is not None and value[0] in DECISIONS


class _ReplayedAnswers(Recorder):
    """A recorder that answers `may_shadow` as in the recording."""

    def __init__(self) -> None:
        self.answers: deque[bool] = deque()

    def may_shadow(self) -> bool:
        return self.answers.popleft() if self.answers else True
