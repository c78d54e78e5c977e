"""The content of a configuration file, with the line of each part, as the readers of YAML and JSON return it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.errors import ConfigurationError, Fault, Location

MAX_PARTS = 50_000
"""The maximum number of parts. The limit stops nested aliases, which multiply parts. No real file has so many."""
MAX_DEPTH = 64
"""The maximum number of levels. The limit stops an alias that contains itself. No real file has so many levels."""


@dataclass(slots=True)
class LocatedContent:
    """A parsed text, with the line of each part."""

    content: Any = None
    """Mappings, lists and scalars."""
    lines: dict[Location, int] = field(default_factory=dict)
    """The line of each field name and of each list element, by location. `()` is the location of the first part."""
    faults: list[Fault] = field(default_factory=list)
    """Repeated fields, and field names that are not text."""
    _parts: int = 0
    _known_faults: set[tuple[int | None, str]] = field(default_factory=set)

    def line_of(self, location: Location) -> int | None:
        """Return the line of a part. If the text lacks the part, return the line of the part that would contain it."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.lines:
                return self.lines[location[:end]]
        return None

    def fault(self, location: Location, message: str) -> Fault:
        """Return a fault of the part at a location."""
        return Fault(location, self.line_of(location), message)

    def count_part(self, depth: int, line: int) -> None:
        """Count one more part. Raise ConfigurationError if there are too many parts, or too many levels."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            message = f"the file has too many parts, over {MAX_PARTS}; do aliases multiply them?"
            raise ConfigurationError([Fault((), line, message)])
        if depth > MAX_DEPTH:
            message = f"the file has too many levels, over {MAX_DEPTH}; does an alias contain itself?"
            raise ConfigurationError([Fault((), line, message)])

    def add_fault(self, fault: Fault) -> None:
        """Add a fault once. An alias can lead to the same line and fault again."""
        if (fault.line, fault.message) not in self._known_faults:
            self._known_faults.add((fault.line, fault.message))
            self.faults.append(fault)


def repeated(location: Location, line: int, first_line: int) -> Fault:
    """Return the fault of a field that a mapping has twice."""
    return Fault(location, line, f"is repeated; line {first_line} has it already")


def mappings_in(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the elements of a list that are mappings, with their positions. Return none if `value` is not a list."""
    if not isinstance(value, list):
        return []
    return [(index, element) for index, element in enumerate(value) if isinstance(element, Mapping)]
