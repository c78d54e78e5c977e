"""The base of the sandbox's errors with several lines, such as a list of faults with an example, or a log."""

from moorage.errors import MoorageError
from moorage.outside_text import one_line

MAX_LINES = 100
"""The limit for the lines of a message. It is enough for the log of an operator whose start fails."""


class MultilineError(MoorageError):
    """An error whose message can have several lines. Each line is printable text, as in other errors."""

    def __str__(self) -> str:
        """Return the message. A long message is cut to its first line and its last MAX_LINES lines."""
        lines = Exception.__str__(self).split("\n")
        kept = lines if len(lines) <= MAX_LINES else [lines[0], "...", *lines[-MAX_LINES:]]
        return "\n".join(map(one_line, kept))
