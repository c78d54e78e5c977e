"""Starts and stops the recording of the engine's calls, and saves the last minutes after a crash."""

from __future__ import annotations

import asyncio
import platform
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from moorage import __version__
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.recording.recording_thread import RecordingThread
from moorage.recording.recording_writer import RecordingCounts, RecordingLimits, RecordingWriter
from moorage.runtime.clock import Clock
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.settings import Settings

SEGMENTS = 16
"""The allowed size has room for at least this many segments, so that deleting the oldest segment loses little."""
MAX_SEGMENT_BYTES = 64 << 20
NO_DIRECTORY = "there is no directory for a recording; start the operator with --record DIR"


class Recordings:
    """The recording of a process; there is at most one at a time."""

    def __init__(self, scheduler: RecordedScheduler, settings: Settings, clock: Clock) -> None:
        """Record the calls of `scheduler`."""
        self._scheduler = scheduler
        self._settings = settings
        self._clock = clock
        self._thread: RecordingThread | None = None
        self._writer: RecordingWriter | None = None

    def start_configured(self) -> None:
        """Start recording if the settings ask for it."""
        if self._settings.record is not None and not self._settings.record_on_request:
            self.start()

    def start(self) -> str:
        """Start recording; return the reason if no directory is configured, otherwise an empty text.

        A fault of the directory is logged, and does not stop the process.
        """
        directory = self._settings.record
        if directory is None:
            return NO_DIRECTORY
        if self._thread is None:
            size = self._settings.record_bytes
            self._writer = RecordingWriter(
                directory=directory,
                seed=self._scheduler.seed,
                limits=RecordingLimits(max_bytes=size, segment_bytes=min(size // SEGMENTS, MAX_SEGMENT_BYTES)),
                time=self._clock.time,
            )
            self._thread = RecordingThread(self._writer)
            self._thread.start()
            self._scheduler.record(self._thread)
        return ""

    async def stop(self) -> None:
        """Stop recording, and wait until the last calls are written."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._scheduler.record(None)
            await asyncio.to_thread(thread.stop)

    def report(self, error: BaseException) -> None:
        """Save the last minutes of the recording with a report about an error, if there is a recording."""
        text = (
            f"moorage {__version__}, Python {platform.python_version()}\n\n{''.join(traceback.format_exception(error))}"
        )
        writer = self._writer
        if self._thread is not None:
            self._scheduler.deliver()
            self._thread.report(text)
        elif writer is not None:
            writer.report(text)

    def describe(self) -> Mapping[str, Any]:
        """Return the state of the recording, for the endpoint."""
        counts = self._counts
        return {
            "directory": str(self._settings.record or ""),
            "recording": self._thread is not None,
            "fault": counts.fault,
            "writtenBytes": counts.bytes,
            "writtenCalls": counts.calls,
            "lostCalls": counts.lost_calls,
        }

    def register(self, metrics: ProcessMetrics) -> None:
        """Register the metrics of the recording."""
        sources: Mapping[tuple[str, str], Callable[[], float]] = {
            ("active", "Whether the calls of the engine are recorded."): lambda: self._thread is not None,
            ("written_bytes", "Bytes that the recording has written."): lambda: self._counts.bytes,
            ("lost_calls", "Calls of the engine that could not be written."): lambda: self._counts.lost_calls,
            ("faults", "Times that the directory of the recording could not be used."): lambda: self._counts.faults,
        }
        for (name, documentation), read in sources.items():
            metrics.read_at_scrape(f"moorage_recording_{name}", documentation, (), partial(_as_series, read))

    @property
    def _counts(self) -> RecordingCounts:
        return self._writer.counts if self._writer else RecordingCounts()


def _as_series(read: Callable[[], float]) -> dict[tuple[str, ...], float]:
    return {(): float(read())}
