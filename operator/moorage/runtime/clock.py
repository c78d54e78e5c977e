"""The machine's clocks. Parts that depend on time receive a `Clock`, so that tests can replace it."""

import asyncio
import time


class Clock:
    """The machine's clocks."""

    def time(self) -> float:
        """Return seconds since the epoch, for timestamps that people read."""
        return time.time()

    def monotonic(self) -> float:
        """Return monotonic seconds, for deadlines."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`."""
        await asyncio.sleep(seconds)
