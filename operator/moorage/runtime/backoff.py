"""How long to wait before the next try: doubling, capped, with jitter, for ever."""

from random import Random


class ExponentialBackoff:
    """Delays of one thing that is retried.

    Each delay lies between half and the whole of the nominal one, so that many replicas do not come back together.
    """

    def __init__(self, initial_seconds: float, max_seconds: float, random: Random) -> None:
        """Start with `initial_seconds`, double up to `max_seconds`."""
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self._random = random
        self._nominal_seconds = initial_seconds
        self.failures = 0
        """Failures in a row; 0 after a success."""

    def next_seconds(self) -> float:
        """Count a failure and return how long to wait."""
        self.failures += 1
        nominal = self._nominal_seconds
        self._nominal_seconds = min(nominal * 2, self._max_seconds)
        return nominal * self._random.uniform(0.5, 1)

    def reset(self) -> None:
        """Forget the failures: it worked."""
        self.failures = 0
        self._nominal_seconds = self._initial_seconds
