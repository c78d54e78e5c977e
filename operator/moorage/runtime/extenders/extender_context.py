"""What extenders are called through, and what they may cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aiohttp import ClientSession, DummyCookieJar, TCPConnector

import moorage

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock

IDLE_CONNECTION_SECONDS = 30.0


class ExtenderObserver(Protocol):
    """Is told of calls, for metrics and conditions. Extenders are named by their urlPrefix."""

    def observe_extender_call(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """Count a call; `result` is `success`, `error`, `timeout`, or `refused` by the circuit breaker."""

    def observe_extender_state(self, extender: str, state: str) -> None:
        """Note that its circuit breaker changed to `closed`, `open` or `half-open`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderContext:
    """What extenders are called through."""

    session: ClientSession
    """From `open_extender_session`, never the API server's own."""
    clock: Clock
    observer: ExtenderObserver
    may_write: Callable[[], bool]
    """Whether this replica still leads; asked before an extender is told to bind."""
    read_pod: Callable[[Pod], Awaitable[bytes]]
    """Reads a placed pod's object, for extenders that are sent victims whole; raises NotFound where it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderLimits:
    """What extenders may cost."""

    parallelism: int = 16
    """How many pods one profile's extenders are asked about at once; upstream's default parallelism."""
    cycle_seconds: float = 30.0
    """How long all extenders together may take over one pod: six of upstream's default timeouts."""
    failures_to_open: int = 5
    """After so many failures in a row an extender is not called for a while."""
    open_seconds: float = 10.0
    """How long that is; as long as a failing pod's longest backoff by default."""


def open_extender_session() -> ClientSession:
    """Open a session for extenders: it never carries the credentials for the API server. Close it when done.

    It has no limit of its own: the connections of one profile's hanging extender must not be wanting to another's.
    """
    return ClientSession(
        connector=TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_SECONDS),
        headers={
            "User-Agent": f"moorage/{moorage.__version__}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        },
        cookie_jar=DummyCookieJar(),
        trust_env=False,
    )
