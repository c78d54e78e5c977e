"""Starts and stops the recording of the engine's calls."""

from __future__ import annotations

from pathlib import Path

from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.recording.recording_thread import RecordingThread
from moorage.recording.recording_writer import RecordingLimits, RecordingWriter
from moorage.runtime.clock import Clock
from moorage.settings import Settings

SEGMENTS = 16
"""The allowed size has room for at least this many segments, so that deleting the oldest segment loses little."""
MAX_SEGMENT_BYTES = 64 << 20


class Recordings:
    """The recording of a process; there is at most one at a time."""

    def __init__(self, scheduler: RecordedScheduler, settings: Settings, clock: Clock) -> None:
        """Record the calls of `scheduler`."""
        self._scheduler = scheduler
        self._settings = settings
        self._clock = clock
        self._thread: RecordingThread | None = None

    def start_configured(self) -> None:
        """Start recording if the settings name a directory."""
        if self._settings.record is not None:
            self.start(self._settings.record)

    def start(self, directory: Path) -> None:
        """Start recording to a directory. Faults of the directory are logged, and do not stop the process."""
        size = self._settings.record_bytes
        writer = RecordingWriter(
            directory=directory,
            seed=self._scheduler.seed,
            limits=RecordingLimits(max_bytes=size, segment_bytes=min(size // SEGMENTS, MAX_SEGMENT_BYTES)),
            time=self._clock.time,
        )
        self._thread = RecordingThread(writer)
        self._thread.start()
        self._scheduler.record(self._thread)

    def stop(self) -> None:
        """Stop recording, and wait until the last calls are written."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._scheduler.record(None)
            thread.stop()
