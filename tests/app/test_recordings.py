from __future__ import annotations

from pathlib import Path

import pytest

from fakes import FakeClock
from moorage.app.crash_reporting import reporting_crashes
from moorage.app.recordings import Recordings
from moorage.errors import MoorageError
from moorage.recording.crash_reports import REPORT_NAME, reports_in
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.settings import Settings
from recording.random_history import PROFILES, RandomHistory
from recording.recorded import replayed, segments
from scrape import sample


class Recorded:
    """A scheduler with recordings."""

    def __init__(self, directory: Path | None, *, on_request: bool = False) -> None:
        self.scheduler = RecordedScheduler(1, PROFILES)
        self.history = RandomHistory(1, self.scheduler)
        settings = Settings(record=directory, record_on_request=on_request)
        self.recordings = Recordings(self.scheduler, settings, FakeClock())

    def run(self, steps: int) -> None:
        self.scheduler.tick(self.history.now)
        self.history.run(steps)


async def test_recording_starts_with_the_process_and_stops_with_it(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.recordings.start_configured()
    recorded.history.start()
    recorded.run(100)
    assert recorded.recordings.describe()["recording"]
    await recorded.recordings.stop()
    assert not recorded.recordings.describe()["recording"]
    assert recorded.recordings.describe()["lostCalls"] == 0
    (run,) = replayed(tmp_path)
    assert run.difference is None


async def test_recording_on_request_begins_with_the_first_request(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, on_request=True)
    recorded.recordings.start_configured()
    recorded.history.start()
    recorded.run(100)
    assert not segments(tmp_path)
    for _ in range(2):
        assert recorded.recordings.start() == ""
        assert recorded.recordings.start() == ""
        recorded.run(100)
        await recorded.recordings.stop()
        recorded.run(20)
    runs = replayed(tmp_path)
    assert [run.difference for run in runs] == [None, None]


async def test_a_start_without_a_directory_names_the_flag() -> None:
    recorded = Recorded(None)
    recorded.recordings.start_configured()
    assert "--record DIR" in recorded.recordings.start()
    recorded.recordings.report(ValueError("a defect"))
    await recorded.recordings.stop()


async def test_metrics_count_what_is_written(tmp_path: Path) -> None:
    recorded, metrics = Recorded(tmp_path), ProcessMetrics("api")
    recorded.recordings.register(metrics)
    assert sample(metrics, "moorage_recording_active") == 0
    recorded.recordings.start_configured()
    recorded.history.start()
    recorded.run(50)
    assert sample(metrics, "moorage_recording_active") == 1
    await recorded.recordings.stop()
    assert sample(metrics, "moorage_recording_written_bytes") == segments(tmp_path)[0].stat().st_size - 8
    assert sample(metrics, "moorage_recording_faults") == 0


async def test_a_survived_fault_is_reported_with_the_last_minutes(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.recordings.start_configured()
    recorded.history.start()
    recorded.run(100)
    recorded.recordings.report(ZeroDivisionError("a defect"))
    await recorded.recordings.stop()
    (report,) = reports_in(tmp_path)
    text = (report / REPORT_NAME).read_text()
    assert text.startswith("moorage ")
    assert text.rstrip().endswith("ZeroDivisionError: a defect")
    (run,) = replayed(report)
    assert run.difference is None


async def test_an_error_that_ends_the_process_is_reported(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.recordings.start_configured()
    recorded.history.start()
    recorded.run(50)
    await recorded.recordings.stop()
    await _fail(recorded.recordings, ZeroDivisionError("a defect"))
    assert len(reports_in(tmp_path)) == 1


async def test_an_error_for_users_is_no_crash(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.recordings.start_configured()
    await _fail(recorded.recordings, MoorageError("free the port"))
    await recorded.recordings.stop()
    assert not reports_in(tmp_path)


async def _fail(recordings: Recordings, error: Exception) -> None:
    with pytest.raises(ExceptionGroup):
        async with reporting_crashes(recordings):
            raise ExceptionGroup("tasks", [error])
