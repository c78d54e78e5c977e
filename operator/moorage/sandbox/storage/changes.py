"""Waiting for changes of the store, for watch streams and for the simulated rest of a cluster."""

import asyncio
from types import TracebackType
from typing import Self

from moorage.sandbox.storage.store import Change, Store, Watcher


class Feed:
    """Follows one place of the store from a revision on, while it is entered; entering raises Compacted."""

    def __init__(self, store: Store, place: str, since: int) -> None:
        """Follow `place` after `since`."""
        self._store = store
        self._place = place
        self._since = since
        self._gathered = asyncio.Event()
        self._watcher = Watcher(self._gathered.set)

    def __enter__(self) -> Self:
        """Start to gather."""
        self._store.watch(self._place, self._since, self._watcher)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop gathering."""
        self._store.unwatch(self._place, self._watcher)

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._gathered.wait()

    async def changes(self, timeout_seconds: float | None = None) -> list[Change]:
        """Wait for changes; an empty list after the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._gathered.wait()
        except TimeoutError:
            return []
        return self.take()

    def take(self) -> list[Change]:
        """Take what has gathered, without waiting."""
        self._gathered.clear()
        return self._watcher.take()
