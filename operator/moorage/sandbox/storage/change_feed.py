"""Lets watch requests and simulated controllers wait for changes in the store."""

import asyncio
from types import TracebackType
from typing import Self

from moorage.sandbox.storage.store import Change, Store, Watcher


class ChangeFeed:
    """The changes of one collection after a revision, as a context manager. `__enter__` may raise Compacted."""

    def __init__(self, store: Store, collection: str, since: int) -> None:
        """Follow `collection` after the revision `since`."""
        self._store = store
        self._collection = collection
        self._since = since
        self._gathered = asyncio.Event()
        self._watcher = Watcher(self._gathered.set)

    def __enter__(self) -> Self:
        """Start to gather changes."""
        self._store.watch(self._collection, self._since, self._watcher)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop gathering changes."""
        self._store.unwatch(self._collection, self._watcher)

    async def wait(self) -> None:
        """Wait for the next change."""
        await self._gathered.wait()

    async def changes(self, timeout_seconds: float | None = None) -> list[Change]:
        """Wait for changes and return them. After the timeout, return an empty list."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._gathered.wait()
        except TimeoutError:
            return []
        return self.take()

    def take(self) -> list[Change]:
        """Return the gathered changes without waiting, and forget them."""
        self._gathered.clear()
        return self._watcher.take()
