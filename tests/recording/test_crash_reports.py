from __future__ import annotations

import os
from pathlib import Path

from moorage.recording.crash_reports import MAX_REPORTS, PAUSE_SECONDS, REPORT_NAME, reports_in, write_report
from moorage.recording.recording_writer import RecordingLimits
from recording.recorded import RecordedHistory, replayed, segments


def test_a_report_can_be_replayed(tmp_path: Path) -> None:
    recorded = RecordedHistory(tmp_path, limits=RecordingLimits(segment_bytes=5_000))
    recorded.begin()
    recorded.history.start()
    recorded.history.run(500)
    recorded.scheduler.deliver()
    recorded.writer.report("ValueError: a defect")
    (report,) = reports_in(tmp_path)
    recorded.end()
    assert (report / REPORT_NAME).read_text() == "ValueError: a defect"
    (run,) = replayed(report)
    assert run.difference is None
    assert run.decisions > 20


def test_a_report_has_the_last_minutes_only(tmp_path: Path) -> None:
    for age, number in ((1000, 0), (400, 1), (200, 2), (0, 3)):
        path = tmp_path / f"{number:010d}.moorage"
        path.write_bytes(b"moorage recording\n")
        os.utime(path, (10_000 - age, 10_000 - age))
    report = write_report(tmp_path, segments(tmp_path), "text", 10_000)
    assert report is not None
    assert [path.stem for path in segments(report)] == ["0000000002", "0000000003"]


def test_the_oldest_reports_are_deleted(tmp_path: Path) -> None:
    for number in range(MAX_REPORTS + 2):
        assert write_report(tmp_path, [], str(number), 10_000 + number * PAUSE_SECONDS) is not None
    texts = [(report / REPORT_NAME).read_text() for report in reports_in(tmp_path)]
    assert texts == [str(number) for number in range(2, MAX_REPORTS + 2)]


def test_an_error_that_repeats_makes_no_further_report(tmp_path: Path) -> None:
    assert write_report(tmp_path, [], "first", 10_000) is not None
    assert write_report(tmp_path, [], "second", 10_001) is None
    assert len(reports_in(tmp_path)) == 1


def test_a_report_without_a_recording_has_the_text(tmp_path: Path) -> None:
    report = write_report(tmp_path, [], "text", 10_000)
    assert report is not None
    assert [path.name for path in report.iterdir()] == [REPORT_NAME]
