"""A file of rows with named columns. It is read row by row, so that memory does not grow with the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from moorage.simulator.input_faults import refuse

Row = tuple[int, list[str]]
"""A line number and the cells of the line."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns: required columns, optional columns, and columns that are ignored."""

    required: Sequence[str]
    optional: Sequence[str] = ()
    ignored: Collection[str] = field(default=())

    @property
    def known(self) -> list[str]:
        """All names."""
        return [*self.required, *self.optional, *self.ignored]

    def __str__(self) -> str:
        """Return the list of the required and the optional names."""
        optional = f" and optionally {', '.join(self.optional)}" if self.optional else ""
        return ", ".join(self.required) + optional

    def unknown(self, name: str) -> str:
        """Return the message that a name is unknown, with a suggestion."""
        near = get_close_matches(name, self.known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the columns are {self}"
        return f"the unknown column {name!r}; remove or rename it: {hint}"


class RowTable(ABC):
    """A file whose columns have been checked."""

    def __init__(self, file: Path, columns: Columns, header: list[str]) -> None:
        """Check the names of the columns. Raise InvalidInput if one is unknown, repeated or missing."""
        self.file = file
        self.columns = columns
        self.header = header
        """The names of the columns, in the order of the cells."""
        self.index = {name: position for position, name in enumerate(header)}
        for name in header:
            if name not in columns.known:
                raise refuse(file, 1, f"the header has {columns.unknown(name)}")
        twice = [name for name in self.index if header.count(name) > 1]
        if twice:
            raise refuse(file, 1, f"the header names the column {twice[0]} twice")
        missing = [name for name in columns.required if name not in self.index]
        if missing:
            raise refuse(file, 1, f"the header has no column {missing[0]}; the columns are {columns}")

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Yield all rows, from the start of the file. Raise InvalidInput at a line that cannot be read."""
