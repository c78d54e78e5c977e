"""Reads a CSV file with a header, row by row, so that memory does not grow with the file."""

from __future__ import annotations

import csv
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from moorage.simulator.input_faults import refuse

MAX_LINE_BYTES = 1 << 16
"""The maximum length of a line. Without it, a binary file without newlines would be read as one line."""
BYTE_ORDER_MARK = "\ufeff"

Row = tuple[int, list[str]]
"""A line number and the cells of the line."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that a file must have, may have, and may have without effect."""

    required: Sequence[str]
    optional: Sequence[str] = ()
    ignored: Collection[str] = field(default=())

    @property
    def known(self) -> list[str]:
        """All names."""
        return [*self.required, *self.optional, *self.ignored]


class CsvTable:
    """A CSV file whose header has been checked. `rows` reads it from the start."""

    def __init__(self, file: Path, columns: Columns) -> None:
        """Read the header. Raise InvalidInput if the file or its header is invalid, OSError if it cannot be read."""
        if not file.is_file() and file.exists():
            raise refuse(
                file, None, "is not a regular file; save the rows to a file, because each policy reads it again"
            )
        self.file = file
        with closing(self._lines()) as lines:
            header = next(csv.reader(lines, strict=True), None)
        if not header or header == [""]:
            raise refuse(file, 1, f"the file has no header; its first line must name the columns: {_listed(columns)}")
        self.header = [name.strip() for name in header]
        self.index = {name: position for position, name in enumerate(self.header)}
        self._check_header(columns)

    def rows(self) -> Iterator[Row]:
        """Yield the rows after the header, without empty lines. Raise InvalidInput at a line that is not CSV."""
        with closing(self._lines()) as lines:
            reader = csv.reader(lines, strict=True)
            next(reader)
            while True:
                try:
                    row = next(reader, None)
                except csv.Error as error:
                    raise refuse(self.file, reader.line_num, f"the line is not valid CSV: {error}") from error
                if row is None:
                    return
                if row:
                    yield reader.line_num, row

    def _lines(self) -> Generator[str]:
        with self.file.open("rb") as lines:
            number = 0
            while line := lines.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise refuse(self.file, number, f"the line is longer than {MAX_LINE_BYTES} bytes; is this CSV?")
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise refuse(
                        self.file, number, f"the line is not UTF-8 ({error.reason}); save it as UTF-8"
                    ) from error
                if "\0" in text:
                    raise refuse(self.file, number, "the line has a zero byte; save the file as CSV in UTF-8")
                yield text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text

    def _check_header(self, columns: Columns) -> None:
        for name in self.header:
            if name not in columns.known:
                self._refuse_column(name, columns)
        twice = [name for name in self.index if self.header.count(name) > 1]
        if twice:
            raise refuse(self.file, 1, f"the header names the column {twice[0]} twice")
        missing = [name for name in columns.required if name not in self.index]
        if missing:
            raise refuse(self.file, 1, f"the header has no column {missing[0]}; the columns are {_listed(columns)}")

    def _refuse_column(self, name: str, columns: Columns) -> NoReturn:
        near = get_close_matches(name, columns.known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the columns are {_listed(columns)}"
        raise refuse(self.file, 1, f"the header has the unknown column {name!r}; remove or rename it: {hint}")


def _listed(columns: Columns) -> str:
    optional = f" and optionally {', '.join(columns.optional)}" if columns.optional else ""
    return ", ".join(columns.required) + optional
