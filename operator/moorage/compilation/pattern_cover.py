"""Compares two shell patterns of instance types: whether one matches all names that the other matches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

from moorage.api.policy_filters import is_pattern

UNUSED = "\x00"
"""A character that no pattern and no instance type contains; only `*`, `?` and `[!...]` match it."""
SET = re.compile(r"\[!?\]?[^\]]*\]")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every name that `other` matches. The result may be wrong for an unusual `[...]`.

    This is checked with three example names that `other` matches. In these names, 0, 1 or n unused characters replace
    each `*`. n is so large that `pattern` needs a `*` to match them.
    """
    if pattern == other:
        return True
    if not is_pattern(pattern):
        return False
    stars_only = SET.sub(UNUSED, other).replace("?", UNUSED)
    lengths = (0, 1, len(pattern) + 1) if "*" in stars_only else (0,)
    return all(fnmatchcase(stars_only.replace("*", UNUSED * length), pattern) for length in lengths)


def matches_any(pattern: str, names: Iterable[str]) -> bool:
    """Return whether a pattern matches one of the names."""
    return any(map(re.compile(translate(pattern)).match, names))
