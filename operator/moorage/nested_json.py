"""Decodes JSON of any depth. A user who may create pods can nest values in fields that the operator ignores.

The API server accepts a depth of 10,000, for example in `metadata.managedFields`. Decoders raise RecursionError at a
depth of about 1,000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

MAX_DEPTH = 100
"""The depth of the values that are kept. The objects that scheduling reads have a depth of about 15."""
NULL = np.frombuffer(b"null", np.uint8)


def decode_nested(decode: Callable[[bytes], T], text: bytes) -> T:
    """Return the result of `decode`.

    If the text is nested too deeply, replace the deepest values by null before decoding.
    """
    try:
        return decode(text)
    except RecursionError:
        return decode(without_deep_values(text))


def without_deep_values(text: bytes, max_depth: int = MAX_DEPTH) -> bytes:
    """Replace each object and list that is nested deeper than `max_depth` by null.

    This works on arrays, because a loop over the values of one pod would block the event loop for a second.
    """
    step = _steps(text)
    depth = np.cumsum(step, dtype=np.int32)
    starts = np.flatnonzero((step == 1) & (depth == max_depth + 1))
    repeats = (depth <= max_depth).astype(np.intp)
    repeats[(step == -1) & (depth == max_depth)] = 0
    repeats[starts] = len(NULL)
    kept = np.repeat(np.frombuffer(text, np.uint8), repeats)
    nulls = np.cumsum(repeats)[starts] - len(NULL)
    kept[nulls[:, np.newaxis] + np.arange(len(NULL))] = NULL
    return kept.tobytes()


def _steps(text: bytes) -> npt.NDArray[np.int8]:
    """Return 1 for each byte that opens an object or list, -1 for each byte that closes one, and 0 for all others."""
    # Backslashes occur in strings only. The first replacement leaves those that escape something else.
    plain = np.frombuffer(text.replace(rb"\\", b"__").replace(rb"\"", b"__"), np.uint8)
    is_outside = np.cumsum(plain == ord('"'), dtype=np.uint8) % 2 == 0
    lower = plain | 0x20  # [ becomes {, and ] becomes }
    opens, closes = is_outside & (lower == ord("{")), is_outside & (lower == ord("}"))
    steps: npt.NDArray[np.int8] = opens.astype(np.int8) - closes.astype(np.int8)
    return steps
