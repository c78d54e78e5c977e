"""Leader election with its events on the Lease and its metric.

The events are not fenced: a replica that stops leading must still send its last event.
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
"""A leader is unhealthy when its lease expired this long ago, as in kube-scheduler."""
LAST_EVENT_SECONDS = 1.0
"""The maximum time to wait for the last event when the election stops."""
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Election:
    """An elector, and the recorder of its events."""

    settings: LeaderElectionSettings
    elector: LeaderElector
    recorder: EventRecorder

    async def run(self, started_to_lead: Callable[[], None]) -> None:
        """Take part in the election until cancelled; then release the lease and send the last event."""

        def changed(leads: bool, event: Event) -> None:  # noqa: FBT001 - the elector's callback
            self.recorder.record(event)
            if leads:
                started_to_lead()

        self.elector.changed = changed
        sending = asyncio.create_task(self.recorder.run(), name="lease-events")
        try:
            await self.elector.run()
        finally:
            await self._send_last_event()
            sending.cancel()

    def fault(self) -> str:
        """Return the reason why the election is unhealthy; empty if it is healthy."""
        if not self.elector.leads:
            return ""
        limit = self.settings.lease_duration_seconds + UNRENEWED_SECONDS
        silent = self.elector.seconds_since_renewal
        return f"the lease was not renewed for {silent:.0f} s" if silent > limit else ""

    def master_status(self) -> dict[tuple[str, ...], float]:
        """Return client-go's `leader_election_master_status`, by the lease's name."""
        return {(self.settings.lease_name,): float(self.elector.leads)}

    async def _send_last_event(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_EVENT_SECONDS):
                while len(self.recorder):  # noqa: ASYNC110 - once, at the end
                    await asyncio.sleep(POLL_SECONDS)
