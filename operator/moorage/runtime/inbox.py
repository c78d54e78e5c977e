"""The inbox of the scheduling loop: other tasks post messages, and only the loop takes them out."""

import asyncio
from collections.abc import Iterable
from typing import Generic, TypeVar

E = TypeVar("E")


class Inbox(Generic[E]):
    """Messages in the order in which they arrived.

    Use it only in the event loop of the scheduling loop; other threads use `call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._messages: list[E] = []
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self._messages)

    def post(self, *messages: E) -> None:
        """Add messages."""
        self.post_all(messages)

    def post_all(self, messages: Iterable[E]) -> None:
        """Add all messages at once. The next `drain` returns all of them."""
        self._messages.extend(messages)
        self._arrived.set()

    def drain(self) -> list[E]:
        """Remove and return all messages."""
        messages, self._messages = self._messages, []
        self._arrived.clear()
        return messages

    async def wait(self, timeout_seconds: float | None) -> None:
        """Wait for a message, or for the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._arrived.wait()
        except TimeoutError:
            return
