"""Reads the segments of a directory: the state and the calls of each run of the operator, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from moorage.engine.engine_state import EngineState
from moorage.framework.registry import Registry
from moorage.recording.calls import RecordedCall
from moorage.recording.recording_faults import UnusableRecording
from moorage.recording.segment_file import EmptySegment, SegmentHeader, SegmentReader, segments_in
from moorage.recording.stream_records import StreamReader, Value


@dataclass(slots=True)
class RecordedRun:
    """Consecutive segments: the calls of one engine without a gap."""

    headers: list[SegmentHeader]
    paths: list[Path]
    stream: StreamReader
    read_bytes: int = 0
    """The bytes that are read so far."""
    notes: list[str] = field(default_factory=list)
    """Remarks about incomplete files."""

    @property
    def size(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def header(self) -> SegmentHeader:
        """The header of the first segment."""
        return self.headers[0]

    def read(self) -> Iterator[EngineState | RecordedCall]:
        """Yield the first state and then all calls. Raise UnusableRecording at a damaged file."""
        for index, path in enumerate(self.paths):
            before = self.read_bytes
            with closing(SegmentReader(path)) as reader:
                values = reader.values()
                try:
                    if index:
                        self.stream.skip_state(values)
                    else:
                        yield self.stream.read_state(values)
                    yield from self.stream.read(self._counted(values, before, reader))
                except UnusableRecording as error:
                    raise error if str(path) in str(error) else UnusableRecording(f"{path}: {error}") from error
            if reader.is_cut_off:
                self._note_cut_off(path, is_last=index == len(self.paths) - 1)

    def _counted(self, values: Iterable[Value], before: int, reader: SegmentReader) -> Iterator[Value]:
        for value in values:
            self.read_bytes = before + reader.read_bytes
            yield value

    def _note_cut_off(self, path: Path, *, is_last: bool) -> None:
        if not is_last:
            raise UnusableRecording(
                f"{path} is cut off, and later files continue it; copy the file again, or delete it"
            )
        self.notes.append(
            f"{path} has no end mark, because the operator still runs or was killed, or because the file is cut off; "
            "it was replayed up to its last complete block"
        )


def read_runs(directory: Path, registry: Registry, note: Callable[[str], None]) -> list[RecordedRun]:
    """Return the runs in a directory, the oldest first. `registry` has the plugins of the profiles.

    `note` receives a remark about each file without decisions. Raise UnusableRecording if the directory has no
    segments, or one that this version cannot read.
    """
    if not directory.is_dir():
        raise UnusableRecording(f"{directory} is not a directory; name the directory of `moorage run --record DIR`")
    runs: list[RecordedRun] = []
    for path in segments_in(directory):
        try:
            with closing(SegmentReader(path)) as reader:
                header = reader.header
        except EmptySegment as error:
            note(str(error))
            continue
        last = runs[-1].headers[-1] if runs else None
        if last is not None and (header.run, header.segment) == (last.run, last.segment + 1):
            runs[-1].headers.append(header)
            runs[-1].paths.append(path)
        else:
            runs.append(RecordedRun([header], [path], StreamReader(registry)))
    if not runs:
        raise UnusableRecording(f"{directory} has no recording; `moorage run --record {directory}` writes one")
    return runs
