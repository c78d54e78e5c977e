"""RetiredProfiles: removes the numbers and the health of profiles that are not live any more.

A binding may end after its policy is deleted. The binding is then counted for a profile that is not live any more. So
the numbers of such profiles are removed before each scrape of the metrics. They are also removed every FORGET_SECONDS,
because a process may have no scrapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.framework.profile import Profile
    from moorage.runtime.clock import Clock
    from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
    from moorage.runtime.metrics.process_metrics import ProcessMetrics
    from moorage.runtime.tally import Tally

FORGET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RetiredProfiles:
    """The parts that keep numbers or health for each profile."""

    live: Mapping[str, Profile]
    """The live profiles by schedulerName."""
    metrics: ProcessMetrics
    tally: Tally
    extenders: ExtenderDispatcher
    clock: Clock

    async def run(self) -> None:
        """Forget every FORGET_SECONDS until cancelled."""
        while True:
            await self.clock.sleep(FORGET_SECONDS)
            self.forget()

    def forget(self) -> None:
        """Forget all profiles that are not live."""
        self.metrics.keep_profiles(self.live)
        self.tally.keep(self.live.values())
        self.extenders.keep_profiles(self.live)
