"""Where everybody leaves what happened, and from where only the scheduling loop takes it."""

import asyncio
from collections.abc import Iterable
from typing import Generic, TypeVar

E = TypeVar("E")


class Inbox(Generic[E]):
    """Events in the order of their arrival. To be used in one event loop; other threads go through it."""

    def __init__(self) -> None:
        """Start empty."""
        self._events: list[E] = []
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._events)

    def post(self, *events: E) -> None:
        """Leave events."""
        self.post_all(events)

    def post_all(self, events: Iterable[E]) -> None:
        """Leave events that belong together; the loop sees them in one go."""
        self._events.extend(events)
        self._arrived.set()

    def drain(self) -> list[E]:
        """Take all that is there."""
        taken, self._events = self._events, []
        self._arrived.clear()
        return taken

    def wake(self) -> None:
        """End a wait although nothing was posted."""
        self._arrived.set()

    async def wait(self, timeout_seconds: float | None) -> None:
        """Return when there is something, when `wake` is called, or after the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._arrived.wait()
        except TimeoutError:
            return
