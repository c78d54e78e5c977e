"""Collects the faults of an input file, each with the file's name and the line."""

from __future__ import annotations

from pathlib import Path

from moorage.errors import Fault, InvalidInput

MAX_FAULTS = 20
"""After this number of faults in one file, further faults are only counted."""


class InputFaults:
    """The faults of one file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self._more = 0

    def add(self, line: int | None, message: str) -> None:
        """Add a fault, such as `tasks.csv:12: gpu is empty`."""
        if len(self.faults) >= MAX_FAULTS:
            self._more += 1
            return
        place = f"{self.file}:{line}" if line else f"{self.file}"
        self.faults.append(Fault((), None, f"{place}: {message}"))

    def raise_any(self) -> None:
        """Raise InvalidInput if there are faults."""
        if not self.faults:
            return
        more = [Fault((), None, f"{self.file}: {self._more} more faults")] if self._more else []
        raise InvalidInput([*self.faults, *more])


def refuse(file: Path, line: int | None, message: str) -> InvalidInput:
    """Return the error for a single fault, which ends the reading of a file."""
    faults = InputFaults(file)
    faults.add(line, message)
    return InvalidInput(faults.faults)
