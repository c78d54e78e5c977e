"""The type of the fixture `moorage`, which runs command lines in the test's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]
