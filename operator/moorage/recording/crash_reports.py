"""Crash reports: a separate directory with a text about an error, and with the segments of the last minutes.

`moorage replay DIR/crash-...` repeats these minutes. Rotation does not delete them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

KEPT_SECONDS = 300.0
"""A report contains at least this time before the error, if the time was recorded."""
MAX_REPORTS = 3
"""The number of reports that are kept; the oldest are deleted."""
PAUSE_SECONDS = 60.0
"""The minimum time between two reports. A repeated error needs no further report."""
REPORT_NAME = "report.txt"
_PREFIX = "crash-"


def write_report(directory: Path, segments: Sequence[Path], text: str, now: float) -> Path | None:
    """Write a report with the last segments. Return its directory, or None if the last report is very new."""
    older = reports_in(directory)
    if older and now - older[-1].stat().st_mtime < PAUSE_SECONDS:
        return None
    for path in older[: max(0, len(older) - MAX_REPORTS + 1)]:
        shutil.rmtree(path, ignore_errors=True)
    report = directory / f"{_PREFIX}{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%S%f}Z"
    report.mkdir(mode=0o700)
    (report / REPORT_NAME).write_text(text, encoding="utf-8")
    for path in _last_minutes(segments, now):
        _link_or_copy(path, report / path.name, is_complete=path != segments[-1])
    os.utime(report, (now, now))
    return report


def reports_in(directory: Path) -> list[Path]:
    """Return the directories of all reports, the oldest first."""
    return sorted(path for path in directory.glob(f"{_PREFIX}*") if path.is_dir())


def size_of(reports: Sequence[Path]) -> int:
    """Return the size of all files of reports."""
    return sum(file.stat().st_size for report in reports for file in report.iterdir())


def _last_minutes(segments: Sequence[Path], now: float) -> Sequence[Path]:
    """Return the last segment, and earlier segments that were written in the last minutes."""
    first = len(segments) - 1
    while first > 0 and segments[first - 1].stat().st_mtime >= now - KEPT_SECONDS:
        first -= 1
    return segments[max(first, 0) :]


def _link_or_copy(source: Path, target: Path, *, is_complete: bool) -> None:
    """Link a complete file. Copy the file if it still grows, or if the volume does not support links."""
    if is_complete:
        try:
            os.link(source, target)
        except OSError:
            pass
        else:
            return
    shutil.copyfile(source, target)
