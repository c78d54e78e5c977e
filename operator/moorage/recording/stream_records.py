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
    """A writer of segments. Each segment begins with a state, so that a replay may start with it."""

    def __init__(self) -> None:
        """Start with no shapes and profiles."""
        self._out: list[Value] = []
        self._objects = ObjectWriter(lambda number, shape: self._out.append([SHAPE, number, shape]))
        self._messages = MessageWriter(self._objects, self._number_of)
        self._profiles: dict[int, tuple[int, Profile]] = {}
        self._earlier_profiles: dict[int, tuple[int, Profile]] = {}
        self._next_profile = 0

    def write_state(self, state: EngineState) -> Iterator[Value]:
        """Yield the values of the state with which a segment begins."""
        self._objects.start_segment()
        self._messages.start_segment()
        self._earlier_profiles, self._profiles = self._profiles, {}
        for part in StateWriter(self._objects, self._messages, self._number_of).write(state):
            yield from self._take()
            yield [STATE, *part]
        self._messages.start_segment()
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
        """Return the number of a profile; define it before its first use in a segment."""
        known = self._profiles.get(id(profile))
        if known is not None:
            return known[0]
        earlier = self._earlier_profiles.get(id(profile))
        if earlier is None:
            earlier = (self._next_profile, profile)
            self._next_profile += 1
        self._profiles[id(profile)] = earlier
        self._out.append([PROFILE, earlier[0], write_profile(profile)])
        return earlier[0]


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
        self._read_definitions_and_parts(values, reader)
        try:
            return reader.state()
        except (MsgspecError, LookupError, TypeError, ValueError) as error:
            raise _unknown_values(error) from error

    def skip_state(self, values: Iterator[Value]) -> None:
        """Skip the state of a segment that continues the one before it."""
        self._read_definitions_and_parts(values, None)

    def read(self, values: Iterable[Value]) -> Iterator[RecordedCall]:
        """Yield the calls after the state."""
        for value in values:
            try:
                call = self._read(value)
            except (MsgspecError, LookupError, TypeError, ValueError) as error:
                raise _unknown_values(error) from error
            if call is not None:
                yield call

    def _read_definitions_and_parts(self, values: Iterator[Value], reader: StateReader | None) -> None:
        self._objects.start_segment()
        for value in values:
            code = value[0]
            if code == STATE_END:
                self._messages.start_segment()
                return
            try:
                if code != STATE:
                    self._define(value)
                elif reader is not None:
                    reader.read(value[1:])
            except (MsgspecError, LookupError, TypeError, ValueError) as error:
                raise _unknown_values(error) from error
        raise UnusableRecording("the recording ends before the end of the state with which it begins")

    def _read(self, value: Value) -> RecordedCall | None:
        code, *fields = value
        if code == TICK:
            return Tick(*fields)
        if code == TRY:
            return RecordedTry(*fields)
        if code == APPLY:
            now, message, fault = fields
            return Apply(now, self._messages.read(message), fault)
        if code == SHADOW_ANSWERS:
            return ShadowAnswers(tuple(fields[0]))
        self._define(value)
        return None

    def _define(self, value: Value) -> None:
        code, number, definition = value
        if code == SHAPE:
            self._objects.define(number, definition)
        elif code != PROFILE:
            raise UnusableRecording(f"the recording has a value of the unknown code {code}")
        elif number not in self._profiles:
            self._profiles[number] = read_profile(definition, self._registry)

    def _profile_of(self, number: int) -> Profile:
        return self._profiles[number]


def _unknown_values(error: Exception) -> UnusableRecording:
    return UnusableRecording(f"the recording has values that this version of moorage does not know: {error}")
