"""Text from outside becomes one line of printable characters with a bounded length."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.errors import (
    ApiError,
    ApiUnreachable,
    ConfigurationError,
    CredentialsError,
    ExtenderError,
    Fault,
    InvalidPolicy,
    MoorageError,
    UnknownPlugin,
    UnusableTls,
)
from moorage.outside_text import one_line


@pytest.mark.parametrize(
    "text", ["", "0/3 nodes are available: 3 Insufficient cpu.", "größer, 大, 🙂", 'it\'s "quoted"']
)
def test_printable_text_is_not_changed(text: str) -> None:
    assert one_line(text) is text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no\n2026-01-01 INFO moorage: pod bound", "no 2026-01-01 INFO moorage: pod bound"),
        ("a\r\nb\tc\x0bd\x85e\u2028f\u2029g\u00a0h", "a  b c d e f g h"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2q#0\x9cimage", "image"),
        ("\x1bcreset", "reset"),
        ("half \x1b", "half "),
        ("half \x1b[1;3", "half "),
        ("a\x00b\x08c\x7fd\x90", "abcd"),
        ("user \u202egnp.exe", "user gnp.exe"),
        ("\u2066isolated\u2069 \u200fmark \ufeffbom zero\u200bwidth tag\U000e0041", "isolated mark bom zerowidth tag"),
        ("half a pair: \ud83d", "half a pair: \ufffd"),
    ],
)
def test_text_that_does_not_print_is_replaced_or_left_out(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(), st.integers(10, 100))
def test_any_text_becomes_one_printable_line_of_bounded_length(text: str, characters: int) -> None:
    shown = one_line(text, characters)
    assert shown.isprintable()
    assert len(shown) <= characters
    assert one_line(shown, characters) == shown
    assert not any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in shown)
    shown.encode()


def test_long_text_is_cut_as_upstream_cuts_events() -> None:
    assert one_line("x" * 1024) == "x" * 1024
    assert one_line("x" * 1025) == "x" * 1020 + " ..."
    assert one_line("\x1b[0m" * (4 << 20)) == " ..."


HOSTILE = "no\n2026-01-01 INFO all is well \x1b[2J\u202e\ud800" + "x" * (1 << 20)


@pytest.mark.parametrize(
    ("error", "limit"),
    [
        (ApiError(500, HOSTILE, HOSTILE), 1024),
        (ApiUnreachable(HOSTILE), 1024),
        (ExtenderError(HOSTILE, HOSTILE), 1024),
        (CredentialsError(HOSTILE), 1024),
        (UnusableTls("certFile", HOSTILE), 1024),
        (UnknownPlugin(HOSTILE), 1024),
        (ConfigurationError([Fault((HOSTILE, 0), 1, HOSTILE)] * 100), 32 * 1024),
        (InvalidPolicy([Fault((HOSTILE, 0), 1, HOSTILE)]), 32 * 1024),
    ],
)
def test_errors_print_as_one_line_of_bounded_length(error: MoorageError, limit: int) -> None:
    assert str(error).isprintable()
    assert len(str(error)) <= limit
    assert f"{error}" == str(error)


def test_a_fault_prints_as_one_line_of_bounded_length() -> None:
    fault = Fault((HOSTILE, 0), 1, HOSTILE)
    assert str(fault).isprintable()
    assert len(str(fault)) <= 1024
