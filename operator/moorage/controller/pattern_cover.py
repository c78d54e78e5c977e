"""Compares shell patterns of instance types: whether one matches every name that another matches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

from moorage.api.policy_filters import is_pattern

UNUSED = "\x00"
"""A character that no pattern and no instance type contains; only `*`, `?` and `[!...]` match it."""
SET = re.compile(r"\[!?\]?[^\]]*\]")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every name that `other` matches. May return False for unusual sets in `other`.

    The names that `other` matches are replaced by samples, with no, one and more unused characters for each `*` than
    `pattern` can match without a `*` of its own.
    """
    if pattern == other:
        return True
    if not is_pattern(pattern):
        return False
    sample = SET.sub(UNUSED, other).replace("?", UNUSED)
    lengths = (0, 1, len(pattern) + 1) if "*" in sample else (0,)
    return all(fnmatchcase(sample.replace("*", UNUSED * length), pattern) for length in lengths)


def matches_any(pattern: str, names: Iterable[str]) -> bool:
    """Return whether a pattern matches one of the names."""
    return any(map(re.compile(translate(pattern)).match, names))
