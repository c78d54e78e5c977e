"""Leader election with what is told of it: events on the Lease, and a metric.

Its events go past the fence: that a replica has stopped leading can only be told when it does not lead any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from moorage.runtime.events.event import Event
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.leadership.elector import LeaderElector
from moorage.settings import LeaderElectionSettings

UNRENEWED_SECONDS = 20.0
"""A leader is unhealthy that has not renewed for this much longer than the lease lasts (as kube-scheduler)."""
TELL_SECONDS = 1.0
"""How long the last event may take at the end."""
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Election:
    """An elector, and the recorder of its own."""

    settings: LeaderElectionSettings
    elector: LeaderElector
    recorder: EventRecorder

    async def run(self, started_to_lead: Callable[[], None]) -> None:
        """Take part until cancelled; the lease is released then."""

        def changed(leads: bool, event: Event) -> None:  # noqa: FBT001 - the elector's callback
            self.recorder.record(event)
            if leads:
                started_to_lead()

        self.elector.changed = changed
        sending = asyncio.create_task(self.recorder.run(), name="lease-events")
        try:
            await self.elector.run()
        finally:
            await self._tell_the_last()
            sending.cancel()

    def fault(self) -> str:
        """Say why it is unhealthy; empty if it is not."""
        if not self.elector.leads:
            return ""
        limit = self.settings.lease_duration_seconds + UNRENEWED_SECONDS
        silent = self.elector.seconds_since_renewal
        return f"the lease was not renewed for {silent:.0f} s" if silent > limit else ""

    def master_status(self) -> dict[tuple[str, ...], float]:
        """Return client-go's `leader_election_master_status`, by the lease's name."""
        return {(self.settings.lease_name,): float(self.elector.leads)}

    async def _tell_the_last(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                while len(self.recorder):  # noqa: ASYNC110 - once in a life
                    await asyncio.sleep(POLL_SECONDS)
