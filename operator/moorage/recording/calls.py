"""The calls of an engine in the order in which they were made, with their results."""

from __future__ import annotations

from msgspec import Struct

from moorage.engine.engine_state import EngineState
from moorage.engine.messages import Message
from moorage.engine.outcomes import Outcome
from moorage.recording.outcome_records import OutcomeValue


class Tick(Struct, frozen=True):
    """A call of `Scheduler.tick`."""

    now: float


class Apply(Struct, frozen=True):
    """A call of `Scheduler.apply`."""

    now: float
    message: Message
    fault: str = ""
    """The exception that the call raised; empty if it raised none."""


class Try(Struct, frozen=True):
    """A call of `Scheduler.schedule_one` in the running engine."""

    now: float
    outcome: Outcome | None


class RecordedTry(Struct, frozen=True):
    """A call of `Scheduler.schedule_one` in a recording."""

    now: float
    outcome: OutcomeValue | None


class ShadowAnswers(Struct, frozen=True):
    """The results of `may_shadow` (whether policies in mode Shadow have time to decide) during the next call."""

    answers: tuple[bool, ...]


Call = Tick | Apply | Try | ShadowAnswers
RecordedCall = Tick | Apply | RecordedTry | ShadowAnswers
StateOrCall = EngineState | RecordedCall
