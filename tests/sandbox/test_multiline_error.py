"""Errors of several lines: their lines stay, control characters do not, and long ones are cut."""

from moorage.sandbox.multiline_error import MAX_LINES, MultilineError


def test_lines_stay_and_control_characters_do_not() -> None:
    assert str(MultilineError("first\n  \x1b[31msecond\x1b[0m")) == "first\n  second"


def test_the_first_and_the_last_lines_of_a_long_message_stay() -> None:
    lines = str(MultilineError("\n".join(map(str, range(1000))))).split("\n")
    assert lines[:2] == ["0", "..."]
    assert lines[-1] == "999"
    assert len(lines) == MAX_LINES + 2
