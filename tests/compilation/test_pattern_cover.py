"""Shell patterns that cover other patterns. An oracle compares the sets of short names that the patterns match."""

from fnmatch import fnmatchcase
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.compilation.pattern_cover import covers, matches_any

LETTERS = "abc"
patterns = st.text("ab*?", min_size=1, max_size=4)
NAMES = ["".join(letters) for length in range(7) for letters in product(LETTERS, repeat=length)]


@given(patterns, patterns)
def test_a_pattern_covers_another_if_it_matches_all_instance_types_that_the_other_matches(
    pattern: str, other: str
) -> None:
    """If two patterns of up to four characters differ, a name of up to six characters shows the difference.

    The names also have the letter c, which no pattern contains.
    """
    assert covers(pattern, other) == all(fnmatchcase(name, pattern) for name in NAMES if fnmatchcase(name, other))


@pytest.mark.parametrize(
    ("pattern", "other", "expected"),
    [
        ("*", "m5*", True),
        ("c5*", "c5.large", True),
        ("c5*", "c5", True),
        ("c5?", "c5*", False),
        ("c[56]*", "c5.large", True),
        ("c[56]*", "c[56]*", True),
        ("c*", "c[56].large", True),
        ("c5*", "c[56].large", False),
        ("c5.large", "c5*", False),
    ],
)
def test_instance_types_are_covered_by_patterns(pattern: str, other: str, *, expected: bool) -> None:
    assert covers(pattern, other) is expected


def test_a_pattern_matches_whole_names() -> None:
    assert matches_any("c5*", ["m5.large", "c5.large"])
    assert not matches_any("c5", ["c5.large"])
    assert not matches_any("*", [])
