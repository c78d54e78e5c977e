"""A circuit breaker: stops asking a server that does not answer, and finds out when it does again.

    closed ---- so many failures in a row ---> open
      ^                                        |  ^
      |                                        |  '-- the trial fails
      '--- the trial succeeds --- half-open <--'
                                         when the pause is over: one call is let through, as a trial

While it is open, pods fail at once instead of each waiting for a timeout of its own.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.runtime.clock import Clock


class BreakerState(Enum):
    """Whether calls are let through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """Watches the calls to one server. Each call that was admitted ends in exactly one verdict."""

    def __init__(
        self, clock: Clock, failures_to_open: int, open_seconds: float, changed: Callable[[BreakerState], None]
    ) -> None:
        """Open after `failures_to_open` failures in a row, try again `open_seconds` later, and tell `changed`."""
        self._clock = clock
        self._changed = changed
        self._failures_to_open = failures_to_open
        self._open_seconds = open_seconds
        self._failures = 0
        self._opened_at: float | None = None
        self._on_trial = False
        self.error = ""
        """Why the last call failed; empty after a success."""

    @property
    def state(self) -> BreakerState:
        """The state now."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        is_over = self._clock.monotonic() - self._opened_at >= self._open_seconds
        return BreakerState.HALF_OPEN if is_over else BreakerState.OPEN

    def admits(self) -> bool:
        """Whether a call may be made now; a half-open breaker admits one, and no other before its verdict."""
        match self.state:
            case BreakerState.CLOSED:
                return True
            case BreakerState.OPEN:
                return False
            case BreakerState.HALF_OPEN if self._on_trial:
                return False
            case BreakerState.HALF_OPEN:
                self._on_trial = True
                self._changed(BreakerState.HALF_OPEN)
                return True

    def succeeded(self) -> None:
        """Take a verdict: there was an answer."""
        was_closed = self._opened_at is None
        self._failures, self._opened_at, self._on_trial, self.error = 0, None, False, ""
        if not was_closed:
            self._changed(BreakerState.CLOSED)

    def failed(self, error: str) -> None:
        """Take a verdict: there was none, or none that makes sense."""
        self._failures += 1
        self.error = error
        if self._on_trial or (self._opened_at is None and self._failures >= self._failures_to_open):
            self._opened_at, self._on_trial = self._clock.monotonic(), False
            self._changed(BreakerState.OPEN)

    def abandoned(self) -> None:
        """Take no verdict: the call was given up for a reason that is not the server's."""
        self._on_trial = False
