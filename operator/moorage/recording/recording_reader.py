"""Reads one segment of a recording: its state, and its calls in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moorage.engine.engine_state import EngineState
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.recording.calls import RecordedCall
from moorage.recording.recording_faults import UnusableRecording
from moorage.recording.segment_file import EmptySegment, SegmentHeader, SegmentReader
from moorage.recording.stream_records import StreamReader


class RecordedSegment:
    """One segment of a recording."""

    def __init__(self, path: Path, registry: Registry) -> None:
        """Read the header; `registry` has the plugins of the profiles."""
        self.path = path
        self._reader = SegmentReader(path)
        self._values = self._reader.values()
        self._stream = StreamReader(registry)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    @property
    def header(self) -> SegmentHeader:
        """The header."""
        return self._reader.header

    @property
    def read_bytes(self) -> int:
        """The bytes that are read so far."""
        return self._reader.read_bytes

    @property
    def is_cut_off(self) -> bool:
        """Whether the file ended without its end mark; known after the last call."""
        return self._reader.is_cut_off

    def state(self) -> EngineState:
        """Return the state with which the segment begins; call this first.

        Raise EmptySegment if the file is cut off before the end of the state.
        """
        with self._naming_the_file():
            try:
                return self._stream.read_state(self._values)
            except UnusableRecording as error:
                if self.is_cut_off:
                    raise EmptySegment(str(error)) from error
                raise

    def calls(self) -> Iterator[RecordedCall]:
        """Yield the calls. Raise UnusableRecording at a damaged block."""
        with self._naming_the_file():
            yield from self._stream.read(self._values)

    def assume(self, pod: Pod) -> None:
        """Keep the pod of a `Bind` of the replay, because the message about its binding refers to it."""
        self._stream.assume(pod)

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except UnusableRecording as error:
            if str(self.path) in str(error) or isinstance(error, EmptySegment):
                raise
            raise UnusableRecording(f"{self.path}: {error}") from error
