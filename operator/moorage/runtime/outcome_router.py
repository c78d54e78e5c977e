"""Hands each outcome of the engine to whoever carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, assert_never

from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Held,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.engine.outcomes import Outcome
    from moorage.model.pods.pod import Pod
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


class ProfileExtenders(Protocol):
    """Asks extenders."""

    def submit(self, outcome: CallExtenders | AskAboutVictims) -> None:
        """Ask the profile's extenders, and post their answer."""


class ClaimRepair(Protocol):
    """Frees claims that keep pods on nodes that are gone."""

    def submit(self, pod: Pod) -> None:
        """Look at the claims of a pod that fits nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriers:
    """Who carries outcomes out."""

    binder: BindQueue
    reporter: Reporter
    evictor: VictimEvictor
    extenders: ProfileExtenders
    claim_repair: ClaimRepair


class OutcomeRouter:
    """The executor of the scheduling loop."""

    def __init__(self, carriers: Carriers, may_schedule: Callable[[], bool]) -> None:
        """Schedule only while `may_schedule`: this replica leads, and all that decisions need is known."""
        self._carriers = carriers
        self._may_schedule = may_schedule

    @property
    def is_ready(self) -> bool:
        """Whether another pod may be tried."""
        return not self._carriers.binder.is_full and self._may_schedule()

    def carry_out(self, outcome: Outcome, started_at: float) -> None:
        """Do what the outcome asks for."""
        carriers = self._carriers
        match outcome:
            case Bind():
                carriers.binder.submit(outcome, started_at)
            case Unschedulable():
                carriers.reporter.unschedulable(outcome, started_at)
                carriers.claim_repair.submit(outcome.pod)
                if outcome.victims:
                    carriers.evictor.submit(outcome)
            case SchedulingFailed():
                carriers.reporter.failed(outcome, started_at)
            case CallExtenders() | AskAboutVictims():
                carriers.extenders.submit(outcome)
            case Held():
                carriers.reporter.waiting(outcome)
            case Skipped():
                carriers.reporter.skipped(outcome)
            case _:
                assert_never(outcome)
