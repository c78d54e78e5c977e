"""The scheduler of a process, whose calls can be recorded at any time.

The hot path only appends each call to a list. Another thread writes the calls (`moorage.recording.recording_thread`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from moorage.engine.engine_state import EngineState, capture
from moorage.engine.messages import Message
from moorage.engine.outcomes import Outcome
from moorage.engine.recorder import NO_RECORDER, Recorder
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.recording.calls import Apply, Call, ShadowAnswers, Tick, Try

BATCH_CALLS = 2000
"""The number of calls that are handed over together."""
BATCH_SECONDS = 1.0
"""The longest time that calls wait to be handed over. So a crash loses at most this time."""


class CallReceiver(Protocol):
    """The receiver of recorded calls: a thread that writes them, or a list in tests."""

    needs_state: bool
    """Whether the receiver needs the state of the engine, because it begins a segment."""

    def begin(self, state: EngineState, now: float) -> None:
        """Begin a segment with the state between the last call and the next one."""

    def receive(self, calls: list[Call]) -> None:
        """Receive the next calls."""


class RecordedScheduler(Scheduler):
    """A scheduler that records its calls while there is a receiver."""

    def __init__(
        self,
        seed: int,
        profiles: Iterable[Profile] = (),
        recorder: Recorder = NO_RECORDER,
        log: DecisionLog | None = None,
    ) -> None:
        """Start as `Scheduler` does, without a receiver."""
        super().__init__(seed, profiles, recorder, log)
        self._receiver: CallReceiver | None = None
        self._calls: list[Call] = []
        self._has_begun = False
        """Whether the receiver has had a state. Calls before its first state are of no use."""
        self._deliver_at = 0.0

    @property
    def receiver(self) -> CallReceiver | None:
        """The receiver of the calls."""
        return self._receiver

    def record(self, receiver: CallReceiver | None) -> None:
        """Hand over the recorded calls, and send later calls to another receiver; None ends the recording."""
        self.deliver()
        self._receiver, self._has_begun = receiver, False
        self._recorder.shadow_answers = None if receiver is None else []

    def deliver(self) -> None:
        """Hand over the recorded calls, if there is a receiver."""
        if self._receiver is not None:
            calls, self._calls = self._calls, []
            self._receiver.receive(calls)

    def apply(self, message: Message, now: float) -> None:
        """Apply a message, and record the call."""
        if self._receiver is None:
            super().apply(message, now)
            return
        try:
            super().apply(message, now)
        except Exception as error:
            self._add(Apply(now, message, f"{type(error).__name__}: {error}"))
            raise
        self._add(Apply(now, message))

    def tick(self, now: float) -> None:
        """Requeue pods, record the call, and hand over the calls when it is time."""
        super().tick(now)
        receiver = self._receiver
        if receiver is None:
            return
        self._add(Tick(now))
        if receiver.needs_state:
            if self._has_begun:
                self.deliver()
            self._calls, self._has_begun = [], True
            receiver.begin(capture(self.parts), now)
        elif now >= self._deliver_at or len(self._calls) >= BATCH_CALLS:
            self.deliver()
            self._deliver_at = now + BATCH_SECONDS

    def schedule_one(self, now: float) -> Outcome | None:
        """Try the next pod, and record the call."""
        outcome = super().schedule_one(now)
        if self._receiver is not None:
            self._add(Try(now, outcome))
        return outcome

    def _add(self, call: Call) -> None:
        answers = self._recorder.shadow_answers
        if answers:
            self._calls.append(ShadowAnswers(tuple(answers)))
            answers.clear()
        self._calls.append(call)
