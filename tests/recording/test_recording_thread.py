from __future__ import annotations

from pathlib import Path

from fakes import FakeClock
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.recording.recording_thread import RecordingThread
from moorage.recording.recording_writer import RecordingWriter
from recording.random_history import PROFILES, RandomHistory
from recording.recorded import replayed


def recorded(thread: RecordingThread, steps: int = 300) -> None:
    """Record a random history with a thread."""
    scheduler = RecordedScheduler(1, PROFILES)
    history = RandomHistory(1, scheduler)
    scheduler.record(thread)
    scheduler.tick(history.now)
    history.start()
    history.run(steps)
    scheduler.record(None)


def test_a_thread_writes_what_it_receives(tmp_path: Path) -> None:
    thread = RecordingThread(RecordingWriter(directory=tmp_path, seed=1, time=FakeClock().time))
    thread.start()
    recorded(thread)
    thread.stop()
    (run,) = replayed(tmp_path)
    assert run.difference is None
    assert run.decisions > 20


def test_calls_beyond_the_limit_are_lost_and_counted(tmp_path: Path) -> None:
    writer = RecordingWriter(directory=tmp_path, seed=1, time=FakeClock().time)
    thread = RecordingThread(writer, max_waiting_calls=50)
    recorded(thread)  # the thread does not run yet, so that all calls wait
    thread.start()
    thread.stop()
    assert writer.counts.lost_calls > 0
    (run,) = replayed(tmp_path)
    assert run.difference is None
