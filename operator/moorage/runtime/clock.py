"""Time as an argument: the one place that reads the process's clocks, and the port that tests replace."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks and a way to wait."""

    def time(self) -> float:
        """Seconds since the epoch, for what people read."""

    def monotonic(self) -> float:
        """Seconds that never jump, for deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""


class SystemClock:
    """The clocks of the machine."""

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)
