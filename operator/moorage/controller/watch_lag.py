"""Detects that kopf's watch is dead: keeps the events that a short watch has reported and kopf has not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from moorage.controller.resource_version import identity, is_newer
from moorage.runtime.clock import Clock

LAG_SECONDS = 3.0
"""The time within which kopf must report an event. On an idle machine, kopf needs 0.1 s."""
START_SECONDS = 15.0
"""The time that kopf may need to start on a busy machine. Within this time, kopf is not started again."""


class WatchLag:
    """The events that kopf has not reported yet, by the uid of the policy."""

    def __init__(self, clock: Clock) -> None:
        """Start without events."""
        self._clock = clock
        self._unreported: dict[str, tuple[str, float]] = {}
        self._delivered: dict[str, str] = {}
        self._no_restart_until = clock.monotonic() + START_SECONDS

    def seen(self, manifest: Mapping[str, Any]) -> None:
        """Record an event of a short watch."""
        uid, version = identity(manifest)
        if is_newer(version, self._delivered.pop(uid, "")):
            _, since = self._unreported.get(uid, ("", self._clock.monotonic()))
            self._unreported[uid] = (version, since)

    def delivered(self, manifest: Mapping[str, Any]) -> None:
        """Record an event of kopf's watch."""
        uid, version = identity(manifest)
        unreported, _ = self._unreported.get(uid, ("", 0.0))
        if not unreported:
            self._delivered[uid] = version
        elif not is_newer(unreported, version):
            del self._unreported[uid]

    def keep(self, uids: Collection[str]) -> None:
        """Forget the versions of policies that do not exist any more."""
        self._delivered = {uid: version for uid, version in self._delivered.items() if uid in uids}

    def is_overdue(self) -> bool:
        """Return whether kopf is late with an event."""
        now = self._clock.monotonic()
        oldest = min((since for _, since in self._unreported.values()), default=now)
        return now > self._no_restart_until and now - oldest > LAG_SECONDS

    def restarted(self) -> None:
        """Forget all events, because kopf lists all policies when it starts."""
        self._unreported.clear()
        self._delivered.clear()
        self._no_restart_until = self._clock.monotonic() + START_SECONDS
