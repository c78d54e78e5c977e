"""Opens a file of rows: CSV with a header, or JSON lines."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

from moorage.simulator.input_faults import refuse
from moorage.simulator.jsonl_table import JsonlTable
from moorage.simulator.row_table import Columns, Row, RowTable
from moorage.simulator.text_lines import text_lines


def open_table(file: Path, columns: Columns) -> RowTable:
    """Open CSV or JSON lines.

    A file of JSON lines begins with `{`. Raise InvalidInput, or OSError if it cannot be read.
    """
    with closing(text_lines(file)) as lines:
        first = next(lines, "")
    return JsonlTable(file, columns) if first.startswith("{") else CsvTable(file, columns)


class CsvTable(RowTable):
    """A CSV file."""

    def __init__(self, file: Path, columns: Columns) -> None:
        """Read the header. Raise InvalidInput if it is invalid."""
        self.file = file
        with closing(self._lines()) as rows:
            _, header = next(rows, (1, []))
        if not any(header):
            raise refuse(file, 1, f"the file has no header; its first line must name the columns: {columns}")
        super().__init__(file, columns, [name.strip() for name in header])

    def rows(self) -> Iterator[Row]:
        """Yield the rows after the header, without empty lines."""
        with closing(self._lines()) as rows:
            next(rows)
            yield from (row for row in rows if row[1])

    def _lines(self) -> Generator[Row]:
        with closing(text_lines(self.file)) as lines:
            reader = csv.reader(lines, strict=True)
            while True:
                try:
                    row = next(reader, None)
                except csv.Error as error:
                    raise refuse(self.file, reader.line_num, f"the line is not valid CSV: {error}") from error
                if row is None:
                    return
                yield reader.line_num, row
