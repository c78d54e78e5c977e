"""Errors with several lines."""

from moorage.sandbox.multiline_error import MAX_LINES, MultilineError


def test_message_keeps_its_lines_without_control_characters() -> None:
    assert str(MultilineError("first\n  \x1b[31msecond\x1b[0m")) == "first\n  second"


def test_long_message_keeps_its_first_and_last_lines() -> None:
    lines = str(MultilineError("\n".join(map(str, range(1000))))).split("\n")
    assert lines[:2] == ["0", "..."]
    assert lines[-1] == "999"
    assert len(lines) == MAX_LINES + 2
