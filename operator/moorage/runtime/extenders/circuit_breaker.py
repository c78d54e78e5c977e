"""A circuit breaker. It blocks calls to a server that fails, and allows a trial call after a pause.

    closed ---- failures_to_open failures in a row ----> open
      ^                                                  |  ^
      |                                                  |  '-- the trial fails
      '------- the trial succeeds ------- half-open <----'
                                          after open_seconds: one call is admitted as a trial

While the breaker is open, each pod fails at once instead of waiting for a timeout.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.runtime.clock import Clock


class BreakerState(Enum):
    """The states of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """The breaker of one server.

    After each admitted call, the caller calls `succeeded`, `failed` or `abandoned`.
    """

    def __init__(
        self, clock: Clock, failures_to_open: int, open_seconds: float, changed: Callable[[BreakerState], None]
    ) -> None:
        """Call `changed` with each new state."""
        self._clock = clock
        self._changed = changed
        self._failures_to_open = failures_to_open
        self._open_seconds = open_seconds
        self._failures = 0
        self._opened_at: float | None = None
        self._on_trial = False
        self.error = ""
        """Error of the last call; empty after a success."""

    @property
    def state(self) -> BreakerState:
        """The current state."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        is_over = self._clock.monotonic() - self._opened_at >= self._open_seconds
        return BreakerState.HALF_OPEN if is_over else BreakerState.OPEN

    def admits(self) -> bool:
        """Return whether a call may be made now; a half-open breaker admits one call until its result is known."""
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
        """Record that a call got an answer; close the breaker."""
        was_closed = self._opened_at is None
        self._failures, self._opened_at, self._on_trial, self.error = 0, None, False, ""
        if not was_closed:
            self._changed(BreakerState.CLOSED)

    def failed(self, error: str) -> None:
        """Record that a call got no valid answer; open the breaker after a trial or after too many failures."""
        self._failures += 1
        self.error = error
        if self._on_trial or (self._opened_at is None and self._failures >= self._failures_to_open):
            self._opened_at, self._on_trial = self._clock.monotonic(), False
            self._changed(BreakerState.OPEN)

    def abandoned(self) -> None:
        """Record that a call ended without a result, for a reason that the server did not cause."""
        self._on_trial = False
