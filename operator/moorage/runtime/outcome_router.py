"""Passes each outcome of the engine to the part that carries it out.

No method of this module waits, because every part queues its work. The scheduling loop reads `is_ready` before it tries
another pod.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Held,
    Misnamed,
    SchedulingFailed,
    ShadowDecision,
    Skipped,
    Unschedulable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Outcome
    from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
    from moorage.runtime.preemption.evictor import Evictor
    from moorage.runtime.reporter import Reporter
    from moorage.runtime.volumes.selected_node_repair import SelectedNodeRepair
    from moorage.runtime.volumes.volume_binder import VolumeBinder


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRouter:
    """The parts that carry out the outcomes."""

    may_schedule: Callable[[], bool]
    """Whether this replica leads and has all the objects that decisions need."""
    volume_binder: VolumeBinder
    reporter: Reporter
    evictor: Evictor
    extenders: ExtenderDispatcher
    claim_repair: SelectedNodeRepair

    @property
    def is_ready(self) -> bool:
        """Whether the loop may try another pod."""
        return not self.volume_binder.is_full and self.may_schedule()

    def carry_out(self, outcome: Outcome, started_at: float) -> None:
        """Start the work of the outcome; `started_at` is the start of the attempt, on the monotonic clock."""
        match outcome:
            case Bind():
                self.volume_binder.submit(outcome, started_at)
            case Unschedulable():
                self.reporter.report_unschedulable(outcome, started_at)
                self.claim_repair.submit(outcome.pod)
                if outcome.victims:
                    self.evictor.submit(outcome)
            case SchedulingFailed():
                self.reporter.report_failed(outcome, started_at)
            case CallExtenders() | AskAboutVictims():
                self.extenders.submit(outcome)
            case Held():
                self.reporter.report_held(outcome)
            case Misnamed():
                self.reporter.report_misnamed(outcome)
            case Skipped():
                self.reporter.report_skipped(outcome)
            case ShadowDecision():
                self.reporter.report_shadow(outcome)
            case _:
                assert_never(outcome)
