"""The directory of a recording: its size, its faults, and its lock."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.recording.recording_writer import RETRY_SECONDS, RecordingLimits, RecordingWriter
from moorage.recording.segment_file import SegmentFile, SegmentHeader
from recording.recorded import RecordedHistory, replayed, segments

SMALL = RecordingLimits(max_bytes=40_000, segment_bytes=5_000)


class Volume:
    """A volume of `capacity` bytes. When it is full, writes to its segment files fail with the error `number`."""

    def __init__(self, directory: Path, capacity: int, number: int = errno.ENOSPC) -> None:
        self.directory, self.capacity, self.number = directory, capacity, number

    def open(self, path: Path, header: SegmentHeader) -> SegmentFile:
        return LimitedFile(path, header, self.check)

    def check(self, more: int) -> None:
        used = sum(path.stat().st_size for path in segments(self.directory))
        if used + more > self.capacity:
            raise OSError(self.number, "No space left on device")


class LimitedFile(SegmentFile):
    """A segment file on a volume."""

    def __init__(self, path: Path, header: SegmentHeader, check: Callable[[int], None]) -> None:
        self._check = check
        super().__init__(path, header)

    def _append(self, data: bytes) -> None:
        self._check(len(data))
        super()._append(data)


def test_the_oldest_segments_are_deleted(tmp_path: Path) -> None:
    RecordedHistory(tmp_path, limits=SMALL).record(1200)
    found = segments(tmp_path)
    assert found[0].name != "0000000000.moorage"
    assert sum(path.stat().st_size for path in found) <= SMALL.max_bytes
    (run,) = replayed(tmp_path)
    assert run.difference is None
    assert run.segments == len(found)


def test_a_segment_ends_at_a_certain_age(tmp_path: Path) -> None:
    recorded = RecordedHistory(tmp_path, limits=RecordingLimits(segment_seconds=100))
    recorded.begin()
    recorded.history.start()
    for _ in range(3):
        recorded.history.run(40)
        recorded.clock.now += 101
        recorded.history.run(40)
    recorded.end()
    assert len(segments(tmp_path)) == 4
    (run,) = replayed(tmp_path)
    assert run.difference is None


def test_a_full_volume_keeps_the_newest_segments(tmp_path: Path) -> None:
    volume = Volume(tmp_path, 30_000)
    recorded = RecordedHistory(
        tmp_path, limits=RecordingLimits(segment_bytes=5_000), more={"open_segment": volume.open}
    )
    recorded.record(1000)
    assert recorded.writer.counts.faults == 0
    assert segments(tmp_path)
    assert all(run.difference is None for run in replayed(tmp_path))


@pytest.mark.parametrize(
    ("number", "step"), [(errno.ENOSPC, "free space on the volume"), (errno.EROFS, "mount a writable volume there")]
)
def test_a_directory_without_space_is_reported_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int, step: str
) -> None:
    volume = Volume(tmp_path, 0, number)
    recorded = RecordedHistory(tmp_path, more={"open_segment": volume.open})
    recorded.begin()
    recorded.history.start()
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            recorded.history.run(100)
            recorded.clock.now += RETRY_SECONDS
    assert recorded.writer.counts.faults > 1
    assert recorded.writer.counts.lost_calls > 100
    (record,) = caplog.records
    assert step in record.getMessage()
    volume.capacity = 1 << 30
    recorded.history.run(200)
    recorded.end()
    assert recorded.writer.counts.fault == ""
    (run,) = replayed(tmp_path)
    assert run.difference is None
    assert run.decisions > 10


def test_a_second_operator_does_not_write_to_the_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = RecordedHistory(tmp_path, 1), RecordedHistory(tmp_path, 2)
    first.begin()
    with caplog.at_level(logging.ERROR):
        second.record(100)
    assert "records there; give each operator its own directory" in second.writer.counts.fault
    first.history.start()
    first.history.run(100)
    first.end()
    (run,) = replayed(tmp_path)
    assert run.seed == 1


def test_the_next_operator_continues_the_numbers_of_the_files(tmp_path: Path) -> None:
    for seed in (1, 2):
        RecordedHistory(tmp_path, seed).record(100)
    assert [path.stem for path in segments(tmp_path)] == ["0000000000", "0000000001"]
    assert [run.seed for run in replayed(tmp_path)] == [1, 2]


def test_calls_that_were_skipped_end_the_run(tmp_path: Path) -> None:
    recorded = RecordedHistory(tmp_path)
    recorded.begin()
    recorded.history.start()
    recorded.history.run(200)
    recorded.scheduler.record(None)
    recorded.history.run(10)
    recorded.writer.skip(20)
    recorded.begin()
    recorded.history.run(200)
    recorded.end()
    runs = replayed(tmp_path)
    assert [run.difference for run in runs] == [None, None]


def test_a_defect_of_the_recording_does_not_reach_the_engine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: Any) -> SegmentFile:
        raise ZeroDivisionError

    recorded = RecordedHistory(tmp_path, more={"open_segment": fail})
    with caplog.at_level(logging.ERROR):
        recorded.record(50)
    assert "ZeroDivisionError" in recorded.writer.counts.fault


def test_a_directory_that_is_a_file_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "file"
    file.touch()
    writer = RecordingWriter(directory=file, seed=1, time=lambda: 0.0)
    recorded = RecordedHistory(tmp_path / "other")
    recorded.writer = writer
    with caplog.at_level(logging.ERROR):
        recorded.record(10)
    assert str(file) in writer.counts.fault
