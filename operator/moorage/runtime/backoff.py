"""Delays between retries: exponential, capped and with jitter. The number of tries has no limit."""

from random import Random


class ExponentialBackoff:
    """The delays of one operation that is retried.

    Each delay is a random part, from 50 % to 100 %, of the nominal delay, so that replicas retry at different times.
    """

    def __init__(self, initial_seconds: float, max_seconds: float, random: Random) -> None:
        """Start with a nominal delay of `initial_seconds`, and double it up to `max_seconds`."""
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._random = random
        self._nominal_seconds = initial_seconds
        self.failures = 0
        """Failures in a row; 0 after a success."""

    def next_seconds(self) -> float:
        """Count a failure and return the delay before the next try."""
        self.failures += 1
        nominal = self._nominal_seconds
        self._nominal_seconds = min(nominal * 2, self._max_seconds)
        return nominal * self._random.uniform(0.5, 1)

    def reset(self) -> None:
        """Start again from the initial delay, after a success."""
        self.failures = 0
        self._nominal_seconds = self._initial_seconds
