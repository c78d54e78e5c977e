"""Reads JSON lines. Each line is an object, and its fields are the cells of a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec import DecodeError, ValidationError, json

from moorage.simulator.input_faults import refuse
from moorage.simulator.row_table import Columns, Row, RowTable
from moorage.simulator.text_lines import text_lines

Cell = str | bool | int | float | None

_decode = json.Decoder(dict[str, Cell]).decode


class JsonlTable(RowTable):
    """A file of JSON lines. The first object names the columns. If a later object lacks a field, its cell is empty."""

    def __init__(self, file: Path, columns: Columns) -> None:
        """Read the first object. Raise InvalidInput if it is invalid."""
        self.file = file
        with closing(text_lines(file)) as lines:
            first = self._object(1, next(lines))
        super().__init__(file, columns, list(first))

    def rows(self) -> Iterator[Row]:
        """Yield a row for each object, without empty lines."""
        with closing(text_lines(self.file)) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, self._cells(number, line)

    def _cells(self, number: int, line: str) -> list[str]:
        fields = self._object(number, line)
        if len(fields) > len(self.header) or any(name not in self.index for name in fields):
            name = next(name for name in fields if name not in self.index)
            known = name in self.columns.known
            lacks = f"the field {name}, which the first object lacks; add it there, for example with null"
            raise refuse(self.file, number, f"the object has {lacks if known else self.columns.unknown(name)}")
        return [_text(fields.get(name)) for name in self.header]

    def _object(self, number: int, line: str) -> dict[str, Cell]:
        try:
            return _decode(line)
        except ValidationError as error:
            raise refuse(self.file, number, f"the line must be an object of text and numbers: {error}") from error
        except DecodeError as error:
            raise refuse(self.file, number, f"the line is not valid JSON: {error}") from error


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell)
