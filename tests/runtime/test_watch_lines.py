from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.runtime.client.watch_lines import LineSplitter


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b""))), st.lists(st.integers(0, 400)))
def test_lines_are_complete_even_if_reads_end_inside_a_line(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    got = [line for start, end in pairwise(bounds) for line in splitter.feed(stream[start:end])]
    assert got == [line for line in lines if line]


def test_a_line_that_does_not_end_is_an_error() -> None:
    splitter = LineSplitter(max_bytes=10)
    splitter.feed(b"x" * 10)
    with pytest.raises(ValueError, match="an event is longer than 10 bytes"):
        splitter.feed(b"x")


def test_complete_lines_may_together_be_longer_than_the_limit() -> None:
    splitter = LineSplitter(max_bytes=10)
    for _ in range(5):
        assert splitter.feed(b"12345678") == []
        assert splitter.feed(b"9\n") == [b"123456789"]


def test_a_line_without_its_end_is_kept() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a":') == []
    assert splitter.feed(b"1}\n{") == [b'{"a":1}']
