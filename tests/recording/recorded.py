"""Records random histories to a directory, in the thread of the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes import FakeClock
from moorage.engine.engine_state import EngineState
from moorage.recording.calls import Call
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.recording.recording_writer import RecordingLimits, RecordingWriter
from moorage.recording.replay_directory import RunResult, read_request, replay_all, runs_of
from recording.random_history import PROFILES, RandomHistory

SEED = 7


@dataclass
class DirectReceiver:
    """A receiver that writes at once."""

    writer: RecordingWriter

    needs_state: bool = True

    def begin(self, state: EngineState, now: float) -> None:
        self.writer.begin(state, now)
        self.needs_state = self.writer.wants_state

    def receive(self, calls: list[Call]) -> None:
        self.writer.write(calls)
        self.needs_state = self.writer.wants_state


@dataclass
class RecordedHistory:
    """A scheduler with a random history. The history is recorded to a directory."""

    directory: Path
    seed: int = SEED
    limits: RecordingLimits = field(default_factory=RecordingLimits)
    clock: FakeClock = field(default_factory=FakeClock)
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of the writer."""

    def __post_init__(self) -> None:
        self.scheduler = RecordedScheduler(self.seed, PROFILES)
        self.history = RandomHistory(self.seed, self.scheduler)
        self.writer = RecordingWriter(
            directory=self.directory, seed=self.seed, limits=self.limits, time=self.clock.time, **self.more
        )

    def record(self, steps: int) -> None:
        """Record random steps, and end the recording."""
        self.begin()
        self.history.start()
        self.history.run(steps)
        self.end()

    def begin(self) -> None:
        self.scheduler.record(DirectReceiver(self.writer))
        self.scheduler.tick(self.history.now)

    def end(self) -> None:
        self.scheduler.record(None)
        self.writer.close()


def replayed(directory: Path) -> list[RunResult]:
    """Replay all runs of a directory."""
    return runs_of(replay_all(read_request(directory), jobs=1))


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.moorage"))
