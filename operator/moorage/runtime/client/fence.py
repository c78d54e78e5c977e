"""The fence: a write is sent only while this replica is sure that it holds the lease.

`KubeClient` calls `check_fence` before it takes a connection. The transport calls `check_fence` again right before it
sends the bytes, because a new connection or a new token may take seconds. `PendingWrites` withdraws a write that has no
answer yet when the replica is no longer sure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.errors import NotLeader

if TYPE_CHECKING:
    from collections.abc import Callable


def always() -> bool:
    """Return True, for a client that needs no leadership."""
    return True


def check_fence(may_write: Callable[[], bool], method: str, path: str) -> None:
    """Raise NotLeader if the request is a write and `may_write` returns False."""
    if method != "GET" and not may_write():
        raise NotLeader(f"{method} {path.partition('?')[0]} was not sent: this replica is not the leader any more")
