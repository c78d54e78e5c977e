"""Writes states and calls as values for msgpack, and reads them. Each value begins with its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import MsgspecError

from moorage.engine.engine_state import EngineState
from moorage.engine.outcomes import Bind
from moorage.framework.profile import Profile
from moorage.framework.registry import Registry
from moorage.recording.calls import Apply, Call, RecordedCall, RecordedTry, ShadowAnswers, Tick, Try
from moorage.recording.message_records import MessageReader, MessageWriter
from moorage.recording.object_records import ObjectReader, ObjectWriter
from moorage.recording.outcome_records import write_outcome
from moorage.recording.profile_records import read_profile, write_profile
from moorage.recording.recording_faults import UnusableRecording
from moorage.recording.state_records import StateReader, StateWriter

SHAPE, PROFILE, STATE, STATE_END, TICK, APPLY, TRY, SHADOW_ANSWERS = range(8)
Value = list[Any]


class StreamWriter:
    """A writer of one segment. It begins with a state, so that the replay of a segment needs no other segment."""

    def __init__(self) -> None:
        """Start with no shapes and profiles."""
        self._out: list[Value] = []
        self._objects = ObjectWriter(lambda number, shape: self._out.append([SHAPE, number, shape]))
        self._messages = MessageWriter(self._objects, self._number_of)
        self._profiles: dict[int, tuple[int, Profile]] = {}
        """By identity; the profile is kept, so that no other object gets its identity."""

    def write_state(self, state: EngineState) -> Iterator[Value]:
        """Yield the values of the state with which a segment begins."""
        for part in StateWriter(self._objects, self._messages, self._number_of).write(state):
            yield from self._take()
            yield [STATE, *part]
        yield [STATE_END]

    def write(self, calls: Iterable[Call]) -> Iterator[Value]:
        """Yield the values of calls."""
        for call in calls:
            value = self._write(call)
            yield from self._take()
            yield value

    def _write(self, call: Call) -> Value:
        match call:
            case Tick(now):
                return [TICK, now]
            case Apply(now, message, fault):
                return [APPLY, now, self._messages.write(message), fault]
            case Try(now, outcome):
                if isinstance(outcome, Bind):
                    self._messages.assume(outcome.pod)
                return [TRY, now, write_outcome(outcome)]
            case ShadowAnswers(answers):
                return [SHADOW_ANSWERS, answers]

    def _take(self) -> list[Value]:
        """Return the definitions that the next value needs."""
        if not self._out:
            return self._out
        taken, self._out = self._out, []
        return taken

    def _number_of(self, profile: Profile) -> int:
        """Return the number of a profile; define it before its first use."""
        known = self._profiles.get(id(profile))
        if known is None:
            known = self._profiles[id(profile)] = (len(self._profiles), profile)
            self._out.append([PROFILE, known[0], write_profile(profile)])
        return known[0]


class StreamReader:
    """A reader of the values that `StreamWriter` yields."""

    def __init__(self, registry: Registry) -> None:
        """Build profiles with the plugins of `registry`."""
        self._registry = registry
        self._profiles: dict[int, Profile] = {}
        self._objects = ObjectReader()
        self._messages = MessageReader(self._objects, self._profile_of)
        self.assume = self._messages.assume
        """Keeps the pod of a `Bind` of the replay. The message about the end of the binding refers to it."""

    def read_state(self, values: Iterator[Value]) -> EngineState:
        """Read the state with which a segment begins."""
        reader = StateReader(self._objects, self._messages, self._profile_of)
        try:
            for value in values:
                if value[0] == STATE_END:
                    return reader.state()
                if value[0] == STATE:
                    reader.read(value[1:])
                else:
                    self._define(value)
        except (MsgspecError, LookupError, TypeError, ValueError) as error:
            raise _unknown_values(error) from error
        raise UnusableRecording("the file ends before the end of the state with which it begins")

    def read(self, values: Iterable[Value]) -> Iterator[RecordedCall]:
        """Yield the calls after the state."""
        for value in values:
            try:
                call = self._read(value)
            except (MsgspecError, LookupError, TypeError, ValueError) as error:
                raise _unknown_values(error) from error
            if call is not None:
                yield call

    def _read(self, value: Value) -> RecordedCall | None:
        code = value[0]
        if code == APPLY:
            return Apply(value[1], self._messages.read(value[2]), value[3])
        if code == TICK:
            return Tick(value[1])
        if code == TRY:
            return RecordedTry(value[1], value[2])
        if code == SHADOW_ANSWERS:
            return ShadowAnswers(tuple(value[1]))
        self._define(value)
        return None

    def _define(self, value: Value) -> None:
        code, number, definition = value
        if code == SHAPE:
            self._objects.define(number, definition)
        elif code != PROFILE:
            raise UnusableRecording(f"the recording has a value of the unknown code {code}")
        else:
            self._profiles[number] = read_profile(definition, self._registry)

    def _profile_of(self, number: int) -> Profile:
        return self._profiles[number]


def _unknown_values(error: Exception) -> UnusableRecording:
    return UnusableRecording(f"the recording has values that this version of moorage does not know: {error}")
