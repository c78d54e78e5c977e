"""The client's own limit on writes: `clientConnection.qps` and `burst` (client-go's token bucket)."""

import logging

from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

LONG_WAIT_SECONDS = 1.0
"""Longer waits are logged; client-go's extraLongThrottleLatency."""
QUIET_SECONDS = 10.0
"""The shortest time between two log lines. Otherwise every throttled request would write a log line."""


class RateLimiter:
    """A token bucket. It allows `burst` requests at once and `qps` a second on average, in the order of arrival."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        """Start with a full bucket; a `qps` of 0 or less switches the limit off."""
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock.monotonic()
        self._silent_until = 0.0

    @property
    def is_on(self) -> bool:
        """Whether there is a limit."""
        return self._qps > 0

    async def acquire(self) -> float:
        """Take a token; if none is left, wait for the next one. Return the seconds of the wait."""
        if not self.is_on:
            return 0.0
        wait_seconds = self._reserve()
        if wait_seconds > 0:
            self._log_wait(wait_seconds)
            await self._clock.sleep(wait_seconds)
        return wait_seconds

    def _reserve(self) -> float:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def _log_wait(self, wait_seconds: float) -> None:
        if wait_seconds <= LONG_WAIT_SECONDS or self._clock.monotonic() < self._silent_until:
            return
        self._silent_until = self._clock.monotonic() + QUIET_SECONDS
        logger.warning(
            "Throttling request: a write waits %.1f s for the client's own limit (qps %g, burst %d); "
            "raise clientConnection.qps and burst if the API server can take more",
            wait_seconds, self._qps, self._burst,
        )  # fmt: skip
