"""Wakes a task that waits for a signal, or for a time on the injected clock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.runtime.clock import Clock


class Wakeup:
    """A signal for one waiting task. A signal that comes before the wait ends that wait at once."""

    def __init__(self, clock: Clock) -> None:
        """Start without a signal."""
        self._clock = clock
        self._event = asyncio.Event()

    def signal(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def wait(self, timeout_seconds: float | None) -> None:
        """Wait for a signal, but at most `timeout_seconds`. None means no limit."""
        if timeout_seconds is None:
            await self._event.wait()
        elif not self._event.is_set():
            waits = [asyncio.create_task(self._event.wait()), asyncio.create_task(self._sleep(timeout_seconds))]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waits:
                    task.cancel()
                await asyncio.gather(*waits, return_exceptions=True)
        self._event.clear()

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
