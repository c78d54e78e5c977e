"""Withdraws unanswered writes as soon as this replica is no longer sure that it leads.

Otherwise a slow network could deliver such a write after another replica has become the leader.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Callable, Iterator

CHECK_SECONDS = 0.5
"""The interval between two calls of `may_write` while a write has no answer yet."""
WITHDRAWN = "withdrawn, because this replica is not the leader any more"


class PendingWrites:
    """The writes of one transport that have no answer yet."""

    def __init__(self, may_write: Callable[[], bool]) -> None:
        """`may_write` returns whether this replica leads."""
        self._may_write = may_write
        self._withdrawals: set[Callable[[], None]] = set()
        self._next_check: TimerHandle | None = None

    @contextmanager
    def watching(self, withdraw: Callable[[], None]) -> Iterator[None]:
        """Call `withdraw` if leadership ends within the block."""
        self._withdrawals.add(withdraw)
        if self._next_check is None:
            self._check_later()
        try:
            yield
        finally:
            self._withdrawals.discard(withdraw)

    def check(self) -> None:
        """Withdraw all writes if this replica is no longer sure that it leads."""
        self._next_check = None
        if not self._may_write():
            for withdraw in tuple(self._withdrawals):
                withdraw()
        elif self._withdrawals:
            self._check_later()

    def close(self) -> None:
        """Stop the checks."""
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None

    def _check_later(self) -> None:
        self._next_check = asyncio.get_running_loop().call_later(CHECK_SECONDS, self.check)
