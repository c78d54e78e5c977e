"""Decodes JSON of any depth. A user who may create pods can nest values in fields that the operator ignores.

The API server accepts a depth of 10,000, for example in `metadata.managedFields`. Decoders raise RecursionError at a
depth of about 1,000.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MAX_DEPTH = 100
"""The depth of the values that are kept. The objects that scheduling reads have a depth of about 15."""
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def decode_nested(decode: Callable[[bytes], T], text: bytes) -> T:
    """Return the result of `decode`.

    If the text is nested too deeply, replace the deepest values by null before decoding.
    """
    try:
        return decode(text)
    except RecursionError:
        return decode(without_deep_values(text))


def without_deep_values(text: bytes, max_depth: int = MAX_DEPTH) -> bytes:
    """Replace each object and list that is nested deeper than `max_depth` by null."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in b"{[":
            depth += 1
            if depth == max_depth + 1:
                kept.append(text[start : token.start()] + b"null")
        elif sign in b"}]":
            if depth == max_depth + 1:
                start = token.end()
            depth -= 1
    if depth <= max_depth:
        kept.append(text[start:])
    return b"".join(kept)
