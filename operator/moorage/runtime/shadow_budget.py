"""The share of the scheduling loop's time that policies in mode Shadow may use."""

SHARE = 0.1
"""Shadows use at most this share of the time. If they need more, they skip decisions, so that pods are not delayed."""
MAX_SAVED_SECONDS = 0.5
"""The unused time that shadows may save for the next burst of pods."""


class ShadowBudget:
    """The time that shadows (policies in mode Shadow) may still use. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        """Start with MAX_SAVED_SECONDS of saved time."""
        self._left = MAX_SAVED_SECONDS
        self._counted_until = 0.0

    def allows(self, now: float) -> bool:
        """Return whether a shadow may decide now."""
        self._left = min(self._left + (now - self._counted_until) * SHARE, MAX_SAVED_SECONDS)
        self._counted_until = now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        """Subtract the time of one decision. The last decision may use more than is left."""
        self._left -= seconds
