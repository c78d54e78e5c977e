"""Segment files: a header and blocks of values, compressed, each with a checksum.

    moorage recording, and a line break
    length, checksum, zlib(header as msgpack)
    length, checksum, zlib(values as msgpack) ...
    0, number of blocks before

The last entry marks a complete file. A process that is killed leaves a file without the mark. Such a file can be read
up to its last complete block.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from moorage import __version__
from moorage.recording.object_records import as_plain
from moorage.recording.recorded_schema import schema_of
from moorage.recording.recording_faults import UnusableRecording

FORMAT = 1
"""The version of the format that this module writes and reads."""
MAGIC = b"moorage recording\n"
SUFFIX = ".moorage"
COMPRESSION = 1
"""zlib's fastest level. Higher levels take several times as long, and save a fifth of the size."""
MAX_BLOCK_BYTES = 64 << 20
"""The maximum size of an unpacked block."""
_FRAME = struct.Struct(">II")
_OWNER_ONLY = 0o600


class EmptySegment(UnusableRecording):
    """A segment that is cut off before the end of its header."""


class SegmentHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first block of a segment."""

    format: int = FORMAT
    moorage: str = __version__
    """The version of moorage that wrote the file."""
    schema: str = ""
    """A checksum over the fields of the recorded classes."""
    run: str
    """The id of the process that recorded."""
    segment: int
    """The number of the segment in the run, from 0. A segment continues the segment with the previous number."""
    seed: int
    time: float = 0.0
    """When the segment began, in seconds since the epoch."""
    monotonic: float = 0.0
    """The same moment on the clock of the calls."""


def segment_path(directory: Path, sequence: int) -> Path:
    """Return the path of a segment. The names sort in the order in which the files were written."""
    return directory / f"{sequence:010d}{SUFFIX}"


def segments_in(directory: Path) -> list[Path]:
    """Return the segments of a directory in the order in which they were written."""
    return sorted(path for path in directory.iterdir() if path.suffix == SUFFIX and path.stem.isdecimal())


class SegmentFile:
    """A new segment file. If a write fails, the file keeps its complete blocks."""

    def __init__(self, path: Path, header: SegmentHeader) -> None:
        """Create the file; raise OSError if that is not possible."""
        self.path = path
        self.size = 0
        self._blocks = 0
        self._encoder = msgspec.msgpack.Encoder(enc_hook=as_plain)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        try:
            self._append(MAGIC)
            self.write(msgspec.structs.replace(header, schema=schema_of()))
        except BaseException:
            self._file.close()
            path.unlink()
            raise

    def write(self, value: Any) -> None:
        """Write a block that holds a value."""
        packed = zlib.compress(self._encoder.encode(value), COMPRESSION)
        self._append(_FRAME.pack(len(packed), zlib.crc32(packed)) + packed)
        self._blocks += 1

    def close(self, *, complete: bool = True) -> None:
        """Close the file, with the mark of a complete file if it is complete."""
        try:
            if complete:
                self._append(_FRAME.pack(0, self._blocks))
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; it is complete if no exception was raised."""
        self.close(complete=error is None)

    def _append(self, data: bytes) -> None:
        """Write all bytes; a file without a buffer may write fewer than it is given."""
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.size += len(data)


class SegmentReader:
    """A reader of one segment file."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raise UnusableRecording if this version of moorage cannot read the file."""
        self.path = path
        self.is_cut_off = False
        """Whether the file ended without its end mark; known after the last value."""
        self.read_bytes = 0
        """The bytes that are read so far."""
        self._blocks = 0
        self._file = path.open("rb")
        try:
            self.header = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def values(self) -> Iterator[list[Any]]:
        """Yield the values of all blocks. Raise UnusableRecording at a damaged block."""
        decoder = msgspec.msgpack.Decoder(list[list[Any]])
        while (block := self._next_block()) is not None:
            try:
                yield from decoder.decode(block)
            except msgspec.MsgspecError as error:
                raise self._damaged(str(error)) from error

    def _read_header(self) -> SegmentHeader:
        beginning = self._file.read(len(MAGIC))
        if not MAGIC.startswith(beginning):
            raise self._fault("is not a segment of a recording; `moorage run --record DIR` writes recordings")
        block = self._next_block()
        if block is None:
            raise EmptySegment(f"{self.path} is cut off before the end of its header; it holds no decisions")
        try:
            header = msgspec.msgpack.decode(block, type=SegmentHeader)
        except msgspec.MsgspecError as error:
            raise self._damaged(f"its header is invalid: {error}") from error
        if header.format != FORMAT or header.schema != schema_of():
            raise self._fault(
                f"was written by moorage {header.moorage} in a form that this version, {__version__}, does not read; "
                "replay it with that version"
            )
        return header

    def _next_block(self) -> bytes | None:
        """Return the next block, unpacked; None at the end of the file."""
        frame = self._file.read(_FRAME.size)
        if len(frame) < _FRAME.size:
            self.is_cut_off = True
            return None
        length, checksum = _FRAME.unpack(frame)
        if not length:
            self._check_end(checksum)
            return None
        packed = self._file.read(length)
        if len(packed) < length:
            self.is_cut_off = True
            return None
        if zlib.crc32(packed) != checksum:
            raise self._damaged("its checksum is wrong")
        self._blocks += 1
        self.read_bytes += _FRAME.size + length
        return self._unpacked(packed)

    def _unpacked(self, packed: bytes) -> bytes:
        unpacking = zlib.decompressobj()
        try:
            block = unpacking.decompress(packed, MAX_BLOCK_BYTES)
        except zlib.error as error:
            raise self._damaged(str(error)) from error
        if not unpacking.eof:
            raise self._damaged(f"it is larger than {MAX_BLOCK_BYTES >> 20} MiB")
        return block

    def _check_end(self, blocks: int) -> None:
        if blocks != self._blocks or self._file.read(1):
            raise self._fault(f"is damaged: it has {self._blocks} blocks, and its end mark names {blocks}")

    def _damaged(self, reason: str) -> UnusableRecording:
        return self._fault(f"is damaged in block {self._blocks}: {reason}; copy the file again, or delete it")

    def _fault(self, message: str) -> UnusableRecording:
        return UnusableRecording(f"{self.path} {message}")


def chunks(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of at most `size` values."""
    chunk: list[Any] = []
    for value in values:
        chunk.append(value)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
