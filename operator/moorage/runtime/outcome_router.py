"""Hands each outcome of the engine to whoever carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from moorage.engine.outcomes import Bind, CallExtenders, SchedulingFailed, Skipped, Unschedulable, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Outcome
    from moorage.runtime.reporter import Reporter


class BindQueue(Protocol):
    """Binds pods."""

    @property
    def is_full(self) -> bool:
        """Whether no more decisions should be made for now."""

    def submit(self, bind: Bind, started_at: float) -> None:
        """Queue a decision."""


class VictimEvictor(Protocol):
    """Makes room for pods."""

    def submit(self, outcome: Unschedulable) -> None:
        """Evict the outcome's victims."""


class ExtenderCaller(Protocol):
    """Asks extenders."""

    def submit(self, outcome: CallExtenders) -> None:
        """Ask the profile's extenders, and post their answer."""


class OutcomeRouter:
    """The executor of the scheduling loop."""

    def __init__(
        self,
        binder: BindQueue,
        reporter: Reporter,
        evictor: VictimEvictor,
        extenders: ExtenderCaller,
        may_schedule: Callable[[], bool],
    ) -> None:
        """Schedule only while `may_schedule`: this replica leads, and all that decisions need is known."""
        self._binder = binder
        self._reporter = reporter
        self._evictor = evictor
        self._extenders = extenders
        self._may_schedule = may_schedule

    @property
    def is_ready(self) -> bool:
        """Whether another pod may be tried."""
        return not self._binder.is_full and self._may_schedule()

    def carry_out(self, outcome: Outcome, started_at: float) -> None:
        """Do what the outcome asks for."""
        match outcome:
            case Bind():
                self._binder.submit(outcome, started_at)
            case Unschedulable():
                self._reporter.unschedulable(outcome, started_at)
                if outcome.victims:
                    self._evictor.submit(outcome)
            case SchedulingFailed():
                self._reporter.failed(outcome, started_at)
            case CallExtenders():
                self._extenders.submit(outcome)
            case Waiting():
                self._reporter.waiting(outcome)
            case Skipped():
                self._reporter.skipped(outcome)
            case _:
                assert_never(outcome)
