"""Reads a text file line by line, with limits, because a path may name a binary file of gigabytes."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from moorage.simulator.input_faults import refuse

MAX_LINE_BYTES = 1 << 16
"""The maximum length of a line. Without the limit, a binary file without newlines would be read as one line."""
BYTE_ORDER_MARK = "\ufeff"


def text_lines(file: Path) -> Generator[str]:
    """Yield the lines of a UTF-8 file.

    Raise InvalidInput if a line is not text, and OSError if the file cannot be opened.
    """
    if not file.is_file() and file.exists():
        raise refuse(
            file, None, "is not a regular file; save the rows to a regular file, because each policy reads them again"
        )
    with file.open("rb") as lines:
        number = 0
        while line := lines.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise refuse(file, number, f"the line is longer than {MAX_LINE_BYTES} bytes; is this text?")
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise refuse(file, number, f"the line is not UTF-8 ({error.reason}); save it as UTF-8") from error
            if "\0" in text:
                raise refuse(file, number, "the line has a zero byte; save the file as text in UTF-8")
            yield text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
