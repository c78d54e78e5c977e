"""The base of the sandbox's errors that need several lines: a list of faults with an example, a log."""

from moorage.errors import MoorageError
from moorage.outside_text import one_line

MAX_LINES = 100
"""Enough for an operator's log until it fails at its start; the last lines tell why."""


class MultilineError(MoorageError):
    """An error whose message keeps its lines. Each line is printable text, as in other errors."""

    def __str__(self) -> str:
        """Return the message, or its last lines if it is long."""
        lines = Exception.__str__(self).split("\n")
        kept = lines if len(lines) <= MAX_LINES else [lines[0], "...", *lines[-MAX_LINES:]]
        return "\n".join(map(one_line, kept))
