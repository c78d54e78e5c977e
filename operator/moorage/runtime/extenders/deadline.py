"""A time limit that uses an injected clock. `asyncio.timeout` would use the clock of the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from moorage.runtime.clock import Clock

T = TypeVar("T")


async def run_within(seconds: float, clock: Clock, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, or cancel it after `seconds` and raise TimeoutError."""
    task, timer = asyncio.create_task(work), asyncio.create_task(clock.sleep(seconds))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()
        timer.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
