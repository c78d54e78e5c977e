"""Writes a recording to a directory: encodes calls, rotates segments, and deletes the oldest ones.

A directory that is full, missing or in use never raises an error here: the writer reports the fault once, and tries
again after RETRY_SECONDS. It then begins a new run with a new state.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from moorage.engine.engine_state import EngineState
from moorage.recording.calls import Call
from moorage.recording.crash_reports import reports_in, size_of, write_report
from moorage.recording.directory_lock import DirectoryInUse, DirectoryLock
from moorage.recording.segment_file import SegmentFile, SegmentHeader, chunks, segment_path, segments_in
from moorage.recording.stream_records import StreamWriter

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60.0
"""The pause after a fault of the directory."""
BLOCK_VALUES = 2000
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FREE_SPACE = "free space on the volume, or set a lower --record-size"
_NEXT_STEPS = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EROFS: "mount a writable volume there",
    errno.EACCES: "let the user of this process write there",
    errno.EPERM: "let the user of this process write there",
    errno.ENOENT: "create the directory, or mount a volume there",
    errno.ENOTDIR: "name a directory with --record",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingLimits:
    """The limits of a recording."""

    max_bytes: int = 1 << 30
    """The size of all segments together."""
    segment_bytes: int = 64 << 20
    """The size of calls at which a segment ends; at least the size of the state at its beginning."""
    segment_seconds: float = 600.0
    """The age at which a segment ends."""


@dataclass(slots=True)
class RecordingCounts:
    """Numbers about a recording, for metrics and answers."""

    bytes: int = 0
    """The bytes that were written."""
    calls: int = 0
    """The calls that were written."""
    lost_calls: int = 0
    """The calls that could not be written."""
    faults: int = 0
    """The number of times that the directory could not be used."""
    fault: str = ""
    """Why nothing is written now; empty if calls are written."""


@dataclass(kw_only=True)
class RecordingWriter:
    """A writer of the calls of one engine."""

    directory: Path
    seed: int
    """The seed of the engine."""
    limits: RecordingLimits = field(default_factory=RecordingLimits)
    time: Callable[[], float]
    """Returns the seconds since the epoch."""
    open_segment: Callable[[Path, SegmentHeader], SegmentFile] = SegmentFile
    wants_state: bool = True
    """Whether the next segment should begin now."""
    counts: RecordingCounts = field(default_factory=RecordingCounts)

    def __post_init__(self) -> None:
        """Write nothing before the first state."""
        self._lock = DirectoryLock(self.directory)
        self._stream = StreamWriter()
        self._file: SegmentFile | None = None
        self._run = ""
        self._segment = 0
        self._began_at = 0.0
        self._state_bytes = 0
        self._retry_at = 0.0
        self._has_gap = True
        """Whether calls are missing after the last segment, so that the next segment begins a new run."""

    def begin(self, state: EngineState, now: float) -> None:
        """Begin a segment with a state of the engine; `now` is the time on the clock of its calls."""
        self.wants_state = False
        try:
            self._begin(state, now)
        except OSError as error:
            self._fail(error)
        except Exception as error:  # a defect in the recording must not stop scheduling
            logger.exception("The recording begins again after a bug; please report it")
            self._fail(error)

    def write(self, calls: list[Call]) -> None:
        """Write calls if a segment is open; otherwise count them as lost."""
        if self._file is None:
            self.counts.lost_calls += len(calls)
            self.wants_state |= self.time() >= self._retry_at
            return
        try:
            self._write(self._file, calls)
        except OSError as error:
            self._fail(error)
        except Exception as error:  # a defect in the recording must not stop scheduling
            logger.exception("The recording begins again after a bug; please report it")
            self._fail(error)

    def skip(self, calls: int) -> None:
        """Count calls that are lost, and begin again with a state."""
        self.counts.lost_calls += calls
        self._has_gap = self.wants_state = True
        self._end_segment(complete=True)

    def report(self, text: str) -> None:
        """Write a crash report with the last minutes."""
        try:
            report = write_report(self.directory, segments_in(self.directory), text, self.time())
        except OSError as error:
            logger.error("No crash report is written: %s", _describe(self.directory, error))  # noqa: TRY400 - no bug
            return
        if report is not None:
            logger.error(
                "The crash report %s has the last minutes of the recording; `moorage replay %s` repeats them",
                report,
                report,
            )

    def close(self) -> None:
        """End the segment, and let other processes use the directory."""
        self._end_segment(complete=True)
        self._lock.release()

    def _begin(self, state: EngineState, now: float) -> None:
        self._end_segment(complete=True)
        self._lock.take()
        if self._has_gap:
            self._run, self._segment = uuid4().hex, 0
        self._began_at = self.time()
        segments = segments_in(self.directory)
        self._make_room(segments)
        path = segment_path(self.directory, int(segments[-1].stem) + 1 if segments else 0)
        header = SegmentHeader(run=self._run, segment=self._segment, seed=self.seed, time=self._began_at, monotonic=now)
        file, self._stream = self.open_segment(path, header), StreamWriter()
        try:
            for values in chunks(self._stream.write_state(state), BLOCK_VALUES):
                file.write(values)
        except BaseException:
            file.close(complete=False)
            path.unlink()  # calls without a state cannot be replayed
            raise
        self._file = file
        self._state_bytes = file.size
        self.counts.bytes += file.size
        self.counts.fault = ""
        self._segment += 1
        self._has_gap = False
        if self._segment == 1:
            logger.info(
                "decisions are recorded in %s; `moorage replay %s` repeats them", self.directory, self.directory
            )

    def _write(self, file: SegmentFile, calls: list[Call]) -> None:
        before = file.size
        file.write(list(self._stream.write(calls)))
        self.counts.calls += len(calls)
        self.counts.bytes += file.size - before
        age = self.time() - self._began_at
        is_full = file.size - self._state_bytes >= max(self.limits.segment_bytes, self._state_bytes)
        self.wants_state |= is_full or age >= self.limits.segment_seconds

    def _end_segment(self, *, complete: bool) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close(complete=complete)
        except OSError as error:
            logger.warning("%s has no end mark, because it cannot be written: %s", file.path, error.strerror)

    def _make_room(self, segments: list[Path]) -> None:
        """Delete the oldest segments, so that one more segment does not exceed the limit."""
        sizes = {path: path.stat().st_size for path in segments}
        total = (
            sum(sizes.values())
            + size_of(reports_in(self.directory))
            + max(self.limits.segment_bytes, 2 * self._state_bytes)
        )
        for path in segments:
            if total <= self.limits.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= sizes[path]

    def _fail(self, error: Exception) -> None:
        """Report a fault, and begin again later: at once if old segments make room on a full volume."""
        self._has_gap = True
        failed = self._file.path if self._file else None
        self._end_segment(complete=False)
        if isinstance(error, OSError) and error.errno in FULL and self._delete_oldest(failed):
            self.wants_state = True
            return
        self.counts.faults += 1
        self._retry_at = self.time() + RETRY_SECONDS
        fault = _describe(self.directory, error)
        if not self.counts.fault:
            logger.error("Nothing is recorded: %s", fault)
        self.counts.fault = fault

    def _delete_oldest(self, failed: Path | None) -> bool:
        """Delete the oldest segment, but not the segment that has just failed. Return whether a segment was deleted."""
        older = [path for path in segments_in(self.directory) if path != failed]
        if older:
            older[0].unlink(missing_ok=True)
        return bool(older)


def _describe(directory: Path, error: Exception) -> str:
    """Return the fault and the next step, as a sentence for users."""
    if not isinstance(error, OSError):
        return f"{type(error).__name__}: {error}"
    text = error.strerror or str(error)
    if not isinstance(error, DirectoryInUse):
        text += f"; {_NEXT_STEPS.get(error.errno or 0, 'check the volume')}"
    return f"{directory}: {text}. The next try is in {RETRY_SECONDS:.0f} seconds"
