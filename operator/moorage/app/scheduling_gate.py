"""Decides whether this replica may schedule, and logs when scheduling starts. No policy is live before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from moorage.framework.profile import Profile

logger = logging.getLogger(__name__)

SHOWN_NAMES = 20
"""Number of schedulerNames in the log line."""


class SchedulingGate:
    """The gate in front of the scheduling loop, which checks `is_open` before each pod."""

    def __init__(self, conditions: Collection[Callable[[], bool]], profiles: Mapping[str, Profile]) -> None:
        """Open the gate while all `conditions` return True. `profiles` are the engine's profiles by schedulerName."""
        self._conditions = conditions
        self._profiles = profiles
        self._was_open = False

    def is_open(self) -> bool:
        """Return whether this replica may schedule. Log a line when this becomes true."""
        is_open = all(condition() for condition in self._conditions)
        if is_open is not self._was_open:
            self._was_open = is_open
            if is_open:
                logger.info("This replica schedules now; live schedulerNames: %s", self._names())
        return is_open

    def _names(self) -> str:
        names = sorted(self._profiles)
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        return (", ".join(names[:SHOWN_NAMES]) or "none") + more
