"""Limits how often a credential plugin runs while its credentials expire soon, or are refused by the API server."""

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
CALM_SECONDS = 120.0
"""After this time without a run, the pauses start from FIRST_PAUSE_SECONDS again."""


class RenewalPace:
    """The pauses between runs. The pause doubles after each run that did not help.

    A run has helped if it returned fresh credentials and was not caused by a refusal. After a refusal, only the next
    request can show whether the new credentials work.
    """

    def __init__(self) -> None:
        """Allow the first run."""
        self._ran_at = float("-inf")
        self._pause_seconds = 0.0

    def allows_run(self, now: float) -> bool:
        """Return whether the plugin may run at `now`, in seconds of the monotonic clock."""
        return now - self._ran_at >= self._pause_seconds

    def record_run(self, now: float, *, has_helped: bool) -> None:
        """Record a run that started at `now`."""
        is_calm = now - self._ran_at >= CALM_SECONDS
        doubled = FIRST_PAUSE_SECONDS if is_calm else max(self._pause_seconds * 2, FIRST_PAUSE_SECONDS)
        self._pause_seconds = FIRST_PAUSE_SECONDS if has_helped else min(doubled, LONGEST_PAUSE_SECONDS)
        self._ran_at = now
