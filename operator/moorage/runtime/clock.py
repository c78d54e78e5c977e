"""The process's clocks behind one interface. No other module reads the time, so that tests can set it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks and a sleep."""

    def time(self) -> float:
        """Return seconds since the epoch, for timestamps that people read."""

    def monotonic(self) -> float:
        """Return monotonic seconds, for deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`."""


class SystemClock:
    """The machine's clocks."""

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`."""
        await asyncio.sleep(seconds)
