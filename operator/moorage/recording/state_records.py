"""Writes the state of an engine as short values for msgpack, and reads it.

Each value is a part of the state: its name, and one element. A pod and a record of the queue are written once; the
other parts refer to them by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import convert

from moorage.cluster.request_mix import MixState
from moorage.engine.cache import CacheState
from moorage.engine.disallowed_pods import DisallowedState
from moorage.engine.engine_state import EngineState
from moorage.engine.held_pods import HeldState, Hold
from moorage.engine.messages import ExtendersAnswered
from moorage.engine.outcomes import ShadowDecision, ShadowVerdict
from moorage.engine.pending_extenders import Attempt
from moorage.engine.queue.queue_state import Entries, QueueState
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.shadows import ShadowState
from moorage.engine.unreadable_kinds import UnreadableState
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.recording.message_records import MessageReader, MessageWriter
from moorage.recording.object_records import NODE, ObjectReader, ObjectWriter

_QUEUED_FIELDS = [name for name in QueuedPodInfo.__slots__ if name not in {"pod", "queue"}]
_PLUGIN_FIELDS = ("unschedulable_plugins", "pending_plugins")
Part = list[Any]


class StateWriter:
    """A writer of one state."""

    def __init__(self, objects: ObjectWriter, messages: MessageWriter, number_of: Callable[[Profile], int]) -> None:
        """Write objects and messages with these writers; `number_of` returns the number of a profile."""
        self._objects = objects
        self._messages = messages
        self._number_of = number_of
        self._pods: dict[int, int] = {}
        self._queued: dict[int, int] = {}
        self._new: list[Part] = []

    def write(self, state: EngineState) -> Iterator[Part]:
        """Yield the parts of a state. A part refers only to parts before it."""
        for name, value in self._elements(state):
            yield from self._new
            self._new.clear()
            yield [name, value]

    def _elements(self, state: EngineState) -> Iterator[tuple[str, Any]]:
        for profile in state.profiles:
            yield "profile", self._number_of(profile)
        yield from self._cache_elements(state.cache)
        queue, held, disallowed, shadows = state.queue, state.held, state.disallowed, state.shadows
        lists: Mapping[str, tuple[Sequence[Any], Callable[[Any], Any]]] = {
            "queued": (queue.pods, self._queued_number),
            "active": (queue.active, self._entry),
            "rejected": (queue.rejected, self._entry),
            "errors": (queue.errors, self._entry),
            "unschedulable": (queue.unschedulable, self._queued_number),
            "in_flight": (queue.in_flight, list),
            "in_flight_event": (queue.events, self._messages.write),
            "binding": (state.binding, self._queued_number),
            "held": (held.pods, self._pod),
            "hold": (held.holds, lambda each: [each[0], each[1]]),
            "held_unreported": (held.unreported, self._pod),
            "suspect": (held.suspects, lambda each: [self._pod(each[0]), each[1]]),
            "misnamed": (held.misnamed, str),
            "disallowed": (disallowed.pods, self._pod),
            "disallowed_message": (disallowed.messages, list),
            "disallowed_unreported": (disallowed.unreported, self._pod),
            "asked": (state.asked, self._attempt),
            "answered": (state.answered, self._attempt),
            "resting": (state.resting, list),
            "shadow": (shadows.shadows, self._number_of),
            "shadow_unreported": (shadows.unreported, self._shadow_decision),
        }
        for name, (elements, write) in lists.items():
            for each in elements:
                yield name, write(each)
        yield "unreadable", state.unreadable
        yield "skipped", [dict(shadows.skipped), shadows.cycle]
        yield "counters", list(state.counters)

    def _cache_elements(self, cache: CacheState) -> Iterator[tuple[str, Any]]:
        for node in cache.nodes:
            yield "node", self._objects.write(NODE, node)
        yield "zones", cache.zones
        for pod, node_name in cache.placed:
            yield "placed", [self._pod(pod), node_name]
        for pod, is_assumed in cache.pods:
            yield "with_node", [self._pod(pod), is_assumed]
        for node_name, pod in cache.pods_on_missing_nodes:
            yield "missing", [node_name, self._pod(pod)]
        for kind, objects in cache.objects:
            for key, thing in objects:
                yield "object", [kind, key, self._objects.write(kind, thing)]
        for name, labels in cache.namespaces:
            yield "namespace", [name, dict(labels)]
        for kind, key, pod_uid, observed in cache.assumed_volumes:
            yield "assumed_volume", [kind, key, pod_uid, self._objects.write(kind, observed)]
        for pod, node_name in cache.nominated:
            yield "nominated", [self._pod(pod), node_name]
        yield "request_mix", cache.request_mix

    def _pod(self, pod: Pod) -> int:
        number = self._pods.get(id(pod))
        if number is None:
            number = self._pods[id(pod)] = len(self._pods)
            self._new.append(["pod", self._objects.write_pod(pod)])
        return number

    def _queued_number(self, queued: QueuedPodInfo) -> int:
        number = self._queued.get(id(queued))
        if number is None:
            number = self._queued[id(queued)] = len(self._queued)
            fields = {name: getattr(queued, name) for name in _QUEUED_FIELDS}
            self._new.append(["record", [self._pod(queued.pod), queued.queue.value, fields]])
        return number

    def _entry(self, entry: tuple[Any, QueuedPodInfo]) -> Any:
        return [entry[0], self._queued_number(entry[1])]

    def _attempt(self, attempt: Attempt) -> Any:
        candidates = attempt.candidates
        return [
            self._queued_number(attempt.queued),
            self._number_of(attempt.profile),
            attempt.answer,
            None if candidates is None else self._messages.write(candidates),
        ]

    def _shadow_decision(self, decision: ShadowDecision) -> Any:
        texts = {name: getattr(decision, name) for name in _DECISION_TEXTS}
        return [self._pod(decision.pod), self._number_of(decision.profile), decision.verdict.value, texts]


_DECISION_TEXTS = ("actual_node_name", "actual_zone", "node_name", "zone", "message")


class StateReader:
    """A reader of the parts that `StateWriter` yields."""

    def __init__(self, objects: ObjectReader, messages: MessageReader, profile_of: Callable[[int], Profile]) -> None:
        """Read objects and messages with these readers; `profile_of` returns the profile of a number."""
        self._objects = objects
        self._messages = messages
        self._profile_of = profile_of
        self._parts: dict[str, list[Any]] = {}
        self._pods: list[Pod] = []
        self._records: list[QueuedPodInfo] = []

    def read(self, part: Part) -> None:
        """Read a part."""
        name, value = part
        if name == "pod":
            self._pods.append(self._objects.read_pod(value))
        elif name == "record":
            pod, queue, fields = value
            plugins = {name: frozenset(fields[name]) for name in _PLUGIN_FIELDS}
            self._records.append(QueuedPodInfo(self._pods[pod], queue=QueueType(queue), **{**fields, **plugins}))
        else:
            self._parts.setdefault(name, []).append(value)

    def state(self) -> EngineState:
        """Return the state, after its last part."""
        all_of = self._all
        skipped, cycle = self._parts["skipped"][0]
        counters = self._parts["counters"][0]
        return EngineState(
            profiles=all_of("profile", self._profile_of),
            cache=self._cache(),
            queue=QueueState(
                pods=all_of("queued", self._record),
                active=self._entries("active"),
                rejected=self._entries("rejected"),
                errors=self._entries("errors"),
                unschedulable=all_of("unschedulable", self._record),
                in_flight=all_of("in_flight", tuple),
                events=all_of("in_flight_event", self._messages.read),
            ),
            binding=all_of("binding", self._record),
            held=HeldState(
                pods=all_of("held", self._pod),
                holds=[(name, convert(hold, Hold)) for name, hold in all_of("hold", list)],
                unreported=all_of("held_unreported", self._pod),
                suspects=[(self._pod(pod), due) for pod, due in all_of("suspect", list)],
                misnamed=all_of("misnamed", str),
            ),
            disallowed=DisallowedState(
                pods=all_of("disallowed", self._pod),
                messages=all_of("disallowed_message", tuple),
                unreported=all_of("disallowed_unreported", self._pod),
            ),
            asked=all_of("asked", self._attempt),
            answered=all_of("answered", self._attempt),
            unreadable=convert(self._parts["unreadable"][0], UnreadableState),
            resting=all_of("resting", tuple),
            shadows=ShadowState(
                shadows=all_of("shadow", self._profile_of),
                unreported=all_of("shadow_unreported", self._shadow_decision),
                skipped=skipped,
                cycle=cycle,
            ),
            counters=(counters[0], counters[1], counters[2]),
        )

    def _cache(self) -> CacheState:
        all_of, objects = self._all, self._objects
        by_kind: dict[str, list[tuple[str, object]]] = {}
        for kind, key, thing in all_of("object", list):
            by_kind.setdefault(kind, []).append((key, objects.read(kind, thing)))
        return CacheState(
            nodes=all_of("node", lambda value: objects.read(NODE, value)),
            zones=self._parts["zones"][0],
            placed=[(self._pod(pod), node_name) for pod, node_name in all_of("placed", list)],
            pods=[(self._pod(pod), is_assumed) for pod, is_assumed in all_of("with_node", list)],
            pods_on_missing_nodes=[(name, self._pod(pod)) for name, pod in all_of("missing", list)],
            objects=list(by_kind.items()),
            namespaces=all_of("namespace", tuple),
            assumed_volumes=[
                (kind, key, pod_uid, objects.read(kind, thing))
                for kind, key, pod_uid, thing in all_of("assumed_volume", list)
            ],
            nominated=[(self._pod(pod), node_name) for pod, node_name in all_of("nominated", list)],
            request_mix=convert(self._parts["request_mix"][0], MixState),
        )

    def _all(self, name: str, read: Callable[[Any], Any]) -> list[Any]:
        return [read(value) for value in self._parts.get(name, ())]

    def _pod(self, number: int) -> Pod:
        return self._pods[number]

    def _record(self, number: int) -> QueuedPodInfo:
        return self._records[number]

    def _entries(self, name: str) -> Entries:
        return [(tuple(key), self._records[number]) for key, number in self._parts.get(name, ())]

    def _attempt(self, value: Any) -> Attempt:
        number, profile, answer, candidates = value
        return Attempt(
            self._records[number],
            self._profile_of(profile),
            None if answer is None else convert(answer, ExtendersAnswered),
            None if candidates is None else self._messages.read(candidates),  # type: ignore[arg-type]
        )

    def _shadow_decision(self, value: Any) -> ShadowDecision:
        pod, profile, verdict, texts = value
        return ShadowDecision(
            pod=self._pods[pod], profile=self._profile_of(profile), verdict=ShadowVerdict(verdict), **texts
        )
