"""Finds out whether a shell pattern of instance types matches all names that another pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

from moorage.api.policy_filters import is_pattern

UNUSED = "\x00"
"""A character that patterns and instance types never contain. Only `*`, `?` and `[!...]` match it."""
SET = re.compile(r"\[!?\]?[^\]]*\]")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every name that `other` matches. The result may be wrong for an unusual `[...]`.

    The function makes three names that `other` matches: it replaces each `*` by 0, 1 or n times the character UNUSED.
    n is so large that only a `*` in `pattern` can match the last name. `pattern` must match all three names.
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
