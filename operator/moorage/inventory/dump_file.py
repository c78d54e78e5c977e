"""Dump files: an inventory as JSON lines, compressed with gzip.

    {"moorageDump": 1, "moorage": "0.1.0", "taken": "2026-05-01T12:00:00Z", "apiServer": "v1.36.1", ...}
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", ...}, ...}
    ...
    {"moorageDumpEnd": {"Node": 12, "Pod": 340}}

The first line names the version of the format. The last line counts the objects, so that an incomplete file is refused.
gzip's checksum detects damaged files.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from moorage import __version__
from moorage.errors import UnusableDump
from moorage.inventory.cluster_inventory import Inventory, NamedMetadata
from moorage.inventory.kinds import KINDS

FORMAT = 1
"""The version of the format that this module writes and reads."""
MAX_LINE_BYTES = 4 << 20
"""The maximum length of a line. An API server stores objects of 1.5 MB at most."""
COMPRESSION = 6


class DumpHeader(msgspec.Struct, kw_only=True, rename="camel"):
    """The first line of a dump."""

    moorage_dump: int
    moorage: str = ""
    taken: str = ""
    api_server: str = ""
    anonymized: bool = False
    unlisted: dict[str, str] = msgspec.field(default_factory=dict)


class DumpEnd(msgspec.Struct, kw_only=True, rename="camel"):
    """The last line of a dump: the number of objects by kind."""

    moorage_dump_end: dict[str, int]


class KindOfLine(msgspec.Struct, kw_only=True, rename="camel"):
    """The kind and name of the object in a line, or the end of the dump."""

    kind: str = ""
    metadata: NamedMetadata = msgspec.field(default_factory=NamedMetadata)
    moorage_dump_end: msgspec.Raw = msgspec.Raw(b"")


def write_dump(inventory: Inventory, path: Path) -> int:
    """Write a dump and return its size in bytes.

    An incomplete file is never visible. Only the file's owner may read it.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with (
            os.fdopen(descriptor, "wb") as file,
            gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=file, mtime=0) as packed,
        ):
            for line in _lines(inventory):
                packed.write(line + b"\n")
        size = Path(temporary).stat().st_size
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return size


def read_dump(path: Path) -> Inventory:
    """Read a dump.

    Raise UnusableDump with the line if the dump is damaged, cut off, edited wrongly or of another format.

    The objects are not decoded; `cluster_events` decodes them and names the line of an invalid one.
    """
    try:
        with gzip.open(path, "rb") as file:
            return _read(file, path)
    except (EOFError, zlib.error) as error:
        message = f"{path} is cut off or damaged ({error}); copy the file again, or take a new dump"
        raise UnusableDump(message) from error
    except gzip.BadGzipFile as error:
        message = f"{path} is not a dump, or is damaged ({error}); `moorage dump -o FILE` writes one"
        raise UnusableDump(message) from error
    except RecursionError as error:
        raise UnusableDump(f"{path} is nested too deeply; take a new dump") from error


def _lines(inventory: Inventory) -> Iterator[bytes]:
    yield msgspec.json.encode(
        DumpHeader(
            moorage_dump=FORMAT,
            moorage=__version__,
            taken=inventory.taken,
            api_server=inventory.api_server,
            anonymized=inventory.anonymized,
            unlisted=dict(inventory.unlisted),
        )
    )
    for kind in KINDS:
        yield from inventory.objects.get(kind, ())
    yield msgspec.json.encode(DumpEnd(moorage_dump_end=inventory.counts))


def _read(file: gzip.GzipFile, path: Path) -> Inventory:
    header = _header(file.readline(MAX_LINE_BYTES), path)
    objects: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    lines: dict[str, list[int]] = {kind: [] for kind in KINDS}
    decode = msgspec.json.Decoder(KindOfLine).decode
    number = 1
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        try:
            line = decode(raw)
        except msgspec.MsgspecError as error:
            raise _fault(path, number, f"is not an object: {error}") from error
        if line.moorage_dump_end:
            _check_counts(line.moorage_dump_end, objects, path, number)
            break
        if line.kind not in objects:
            known = ", ".join(KINDS)
            raise _fault(path, number, f"has the kind {line.kind!r}; the kinds of a dump are {known}")
        if not line.metadata.name:
            raise _fault(path, number, f"is a {line.kind} without metadata.name; write the name")
        objects[line.kind].append(raw.rstrip(b"\n"))
        lines[line.kind].append(number)
    else:
        raise UnusableDump(f"{path} is cut off after line {number}; copy the file again, or take a new dump")
    if file.readline(1):
        raise _fault(path, number + 1, "follows the line that ends the dump; move it before that line")
    return Inventory(
        objects=objects,
        lines=lines,
        unlisted=header.unlisted,
        taken=header.taken,
        api_server=header.api_server,
        moorage=header.moorage,
        anonymized=header.anonymized,
    )


def _header(line: bytes, path: Path) -> DumpHeader:
    try:
        header = msgspec.json.decode(line, type=DumpHeader)
    except msgspec.MsgspecError as error:
        message = f"{path} is not a dump: line 1 is not a header ({error}); `moorage dump -o FILE` writes a dump"
        raise UnusableDump(message) from error
    if header.moorage_dump != FORMAT:
        raise UnusableDump(
            f"{path} has the format {header.moorage_dump}, written by moorage {header.moorage}; this version, "
            f"{__version__}, reads the format {FORMAT}. Use that version, or take a new dump"
        )
    return header


def _check_counts(raw: msgspec.Raw, objects: dict[str, list[bytes]], path: Path, number: int) -> None:
    """Raise UnusableDump if the numbers in the last line differ from the numbers of objects in the file."""
    try:
        counted = Counter(msgspec.json.decode(raw, type=dict[str, int]))
    except msgspec.MsgspecError as error:
        raise _fault(path, number, f"is not a count of objects: {error}") from error
    for kind in sorted({*counted, *objects}):
        found = len(objects.get(kind, ()))
        if counted[kind] != found:
            message = (
                f"counts {counted[kind]} objects of the kind {kind}, but the file has {found}; "
                "if you edited the file on purpose, correct this line"
            )
            raise _fault(path, number, message)


def _fault(path: Path, number: int, message: str) -> UnusableDump:
    return UnusableDump(f"{path}: line {number} {message}")
