"""Limits explanations to one at a time, and to a share of the scheduling loop's time.

Without this limit, a user could ask for explanations so often that no pods are scheduled.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from moorage.runtime.clock import Clock

SHARE = 0.2
"""Explanations use at most this share of the time."""
MAX_WAITING = 32
"""The number of requests that may wait for a turn; further requests are refused."""


class TooManyQuestions(Exception):  # noqa: N818 - becomes an answer with the status 429
    """Too many requests wait for a turn."""


class ExplanationTurns:
    """The turns of one process."""

    def __init__(self, clock: Clock) -> None:
        """Let the first request continue at once."""
        self._clock = clock
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, which lasts until the end of the block. Raise TooManyQuestions if too many wait."""
        if self._waiting >= MAX_WAITING:
            raise TooManyQuestions
        self._waiting += 1
        try:
            async with self._turn:
                pause = self._free_at - self._clock.monotonic()
                if pause > 0:
                    await self._clock.sleep(pause)
                started = self._clock.monotonic()
                try:
                    yield
                finally:
                    now = self._clock.monotonic()
                    self._free_at = now + (now - started) * (1 - SHARE) / SHARE
        finally:
            self._waiting -= 1
