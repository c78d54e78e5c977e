"""Writes the messages to the engine as values for msgpack, and reads them.

The old object in an event is usually the new object of the last event about it. In this case, the old object is not
written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import convert

from moorage.engine.candidate import Candidate
from moorage.engine.messages import (
    BindingFinished,
    CandidatesAnswered,
    ExtendersAnswered,
    KindReadable,
    KindUnreadable,
    LeadershipStarted,
    Message,
    NodeRefused,
    ProfileChanged,
    ProfileRefused,
    ProfileRemoved,
    TryAgain,
)
from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.recording.object_records import ObjectReader, ObjectWriter
from moorage.recording.recording_faults import UnusableRecording

EVENT = "event"
_ACTIONS = {action: index for index, action in enumerate(Action)}
_BY_INDEX = tuple(Action)
_PLAIN: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ProfileRemoved,
        ProfileRefused,
        ExtendersAnswered,
        TryAgain,
        LeadershipStarted,
        KindUnreadable,
        KindReadable,
    )
}
"""The messages without pods and profiles."""


class KnownObjects:
    """The last version of each object in the events. The writer and the reader keep the same versions."""

    def __init__(self) -> None:
        """Start with no objects."""
        self._objects: dict[tuple[str, str, str], Any] = {}

    def last(self, kind: str, namespace: str, name: str) -> Any:
        """Return the last version of an object, or None."""
        return self._objects.get((kind, namespace, name))

    def observe(self, event: ClusterEvent) -> None:
        """Keep the object of an event."""
        if event.action is Action.DELETE:
            self._objects.pop(_key(event.kind, event.old), None)
        else:
            self._objects[_key(event.kind, event.new)] = event.new


class MessageWriter:
    """A writer of messages."""

    def __init__(self, objects: ObjectWriter, number_of: Callable[[Profile], int]) -> None:
        """Write objects with `objects`; `number_of` returns the number of a profile."""
        self._objects = objects
        self._number_of = number_of
        self._known = KnownObjects()
        self._assumed: dict[str, Pod] = {}

    def assume(self, pod: Pod) -> None:
        """Keep the pod of a `Bind`, because the message about the binding refers to it."""
        self._assumed[pod.uid] = pod

    def write(self, message: Message) -> list[Any]:
        """Return the value of a message."""
        match message:
            case ClusterEvent():
                return self._write_event(message)
            case BindingFinished(pod, node_name, error):
                is_known = self._assumed.pop(pod.uid, None) is pod
                thing = None if is_known else self._objects.write_pod(pod)
                return ["BindingFinished", pod.uid, thing, node_name, error]
            case ProfileChanged(profile):
                return ["ProfileChanged", self._number_of(profile)]
            case NodeRefused(pod, node_name, profile):
                return ["NodeRefused", self._objects.write_pod(pod), node_name, self._number_of(profile)]
            case CandidatesAnswered():
                candidates = [
                    [each.node_name, [self._objects.write_pod(pod) for pod in each.victims], each.violations]
                    for each in message.candidates
                ]
                return ["CandidatesAnswered", message.pod_uid, candidates, message.error]
            case _:
                return [type(message).__name__, message]

    def _write_event(self, event: ClusterEvent) -> list[Any]:
        kind, old, new = event.kind, event.old, event.new
        is_known = old is not None and self._known.last(*_key(kind, old)) is old
        self._known.observe(event)
        return [
            EVENT,
            kind,
            _ACTIONS[event.action],
            _key(kind, old)[1:] if is_known else None,
            None if is_known or old is None else self._objects.write(kind, old),
            None if new is None else self._objects.write(kind, new),
        ]


class MessageReader:
    """A reader of the values that `MessageWriter` returns."""

    def __init__(self, objects: ObjectReader, profile_of: Callable[[int], Profile]) -> None:
        """Read objects with `objects`; `profile_of` returns the profile of a number."""
        self._objects = objects
        self._profile_of = profile_of
        self._known = KnownObjects()
        self._assumed: dict[str, Pod] = {}

    def assume(self, pod: Pod) -> None:
        """Keep the pod of a `Bind` until its binding has finished."""
        self._assumed[pod.uid] = pod

    def read(self, value: list[Any]) -> Message:
        """Read a message."""
        kind, *fields = value
        if kind == EVENT:
            return self._read_event(value)
        match kind, fields:
            case "BindingFinished", [uid, thing, node_name, error]:
                known = self._assumed.pop(uid, None)
                pod = known if thing is None else self._objects.read_pod(thing)
                if pod is None:
                    raise UnusableRecording(f"the recording ends a binding of the pod {uid} that did not begin")
                return BindingFinished(pod, node_name, error)
            case "ProfileChanged", [number]:
                return ProfileChanged(self._profile_of(number))
            case "NodeRefused", [pod, node_name, number]:
                return NodeRefused(self._objects.read_pod(pod), node_name, self._profile_of(number))
            case "CandidatesAnswered", [uid, candidates, error]:
                found = tuple(
                    Candidate(name, tuple(map(self._objects.read_pod, victims)), violations)
                    for name, victims, violations in candidates
                )
                return CandidatesAnswered(pod_uid=uid, candidates=found, error=error)
            case str(name), [plain] if name in _PLAIN:
                message: Message = convert(plain, _PLAIN[name])
                return message
            case _:
                raise UnusableRecording(f"the recording has an unknown message {kind!r}")

    def _read_event(self, value: list[Any]) -> ClusterEvent:
        _, kind, action, key, old, new = value
        if old is not None:
            old = self._objects.read(kind, old)
        if new is not None:
            new = self._objects.read(kind, new)
        if key is not None:
            old = self._known.last(kind, *key)
            if old is None:
                raise UnusableRecording(f"the recording changes a {kind} {'/'.join(key)} that it does not have")
        event = ClusterEvent(kind, _BY_INDEX[action], old, new)
        self._known.observe(event)
        return event


def _key(kind: str, thing: Any) -> tuple[str, str, str]:
    return kind, getattr(thing, "namespace", ""), thing.name
