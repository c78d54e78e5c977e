"""The state of an engine: a copy from which another engine continues with the same decisions.

A recording begins with such a state. The copy shares pods, nodes and profiles with the engine, because these objects
never change. Columns, counts and memos are not copied, because the new engine computes them from the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from moorage.engine.cache import CacheState
from moorage.engine.disallowed_pods import DisallowedState
from moorage.engine.event_handlers import EventHandlers
from moorage.engine.held_pods import HeldState
from moorage.engine.pending_extenders import Attempt, PendingExtenders
from moorage.engine.queue.queue_state import Entries, QueueState, queue_state, restore_queue
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.refusing_nodes import RefusingNodes
from moorage.engine.shadows import ShadowState
from moorage.engine.unreadable_kinds import UnreadableKinds, UnreadableState
from moorage.framework.profile import Profile


@dataclass(slots=True)
class CycleCounters:
    """The numbers that grow with the attempts."""

    cycle: int = 0
    """The number of attempts so far; with the seed, it decides between nodes with equal scores."""
    start: int = 0
    """The position at which the next attempt begins its search for nodes."""
    next_leftover_flush: float = 0.0
    """The time of the next check for pods that are unschedulable for too long, in seconds."""


@dataclass(frozen=True, slots=True)
class SchedulerParts:
    """The parts of a scheduler that have state."""

    handlers: EventHandlers
    extenders: PendingExtenders
    unreadable: UnreadableKinds
    refusing: RefusingNodes
    counters: CycleCounters


class EngineState(Struct, frozen=True, kw_only=True):
    """The state of a scheduler between two calls."""

    profiles: Sequence[Profile]
    cache: CacheState
    queue: QueueState
    binding: Sequence[QueuedPodInfo]
    held: HeldState
    disallowed: DisallowedState
    asked: Sequence[Attempt]
    answered: Sequence[Attempt]
    unreadable: UnreadableState
    resting: Sequence[tuple[str, float, float]]
    shadows: ShadowState
    counters: tuple[int, int, float]


def capture(parts: SchedulerParts) -> EngineState:
    """Return a copy of the state of a scheduler. Later changes of the scheduler do not change the copy."""
    handlers = parts.handlers
    asked, answered = parts.extenders.state()
    copies = _Copies()
    return EngineState(
        profiles=list(handlers.profiles.values()),
        cache=handlers.cache.state(),
        queue=copies.of_queue(queue_state(handlers.queue.parts)),
        binding=copies.of_all(handlers.binding.all()),
        held=handlers.held.state(),
        disallowed=handlers.disallowed.state(),
        asked=copies.of_attempts(asked),
        answered=copies.of_attempts(answered),
        unreadable=parts.unreadable.state(),
        resting=parts.refusing.state(),
        shadows=handlers.shadows.state(),
        counters=(parts.counters.cycle, parts.counters.start, parts.counters.next_leftover_flush),
    )


def restore(parts: SchedulerParts, state: EngineState) -> None:
    """Restore the state of an earlier scheduler in a new one, which must have no profiles and objects yet."""
    handlers = parts.handlers
    handlers.profiles.update((profile.name, profile) for profile in state.profiles)
    handlers.canaries.update()
    handlers.cache.restore(state.cache)
    restore_queue(handlers.queue.parts, state.queue)
    for queued in state.binding:
        handlers.binding.add(queued)
    handlers.held.restore(state.held, (profile.name for profile in state.profiles if profile.policy is not None))
    handlers.disallowed.restore(state.disallowed)
    parts.extenders.restore(state.asked, state.answered)
    parts.unreadable.restore(state.unreadable)
    parts.refusing.restore(state.resting)
    handlers.shadows.restore(state.shadows)
    parts.counters.cycle, parts.counters.start, parts.counters.next_leftover_flush = state.counters


class _Copies:
    """The copies of the queue's records. A record that several parts share is copied only once."""

    def __init__(self) -> None:
        self._copies: dict[int, QueuedPodInfo] = {}

    def of(self, queued: QueuedPodInfo) -> QueuedPodInfo:
        found = self._copies.get(id(queued))
        if found is None:
            found = self._copies[id(queued)] = copy(queued)
        return found

    def of_all(self, records: Iterable[QueuedPodInfo]) -> list[QueuedPodInfo]:
        return [self.of(queued) for queued in records]

    def of_attempts(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        return [replace(attempt, queued=self.of(attempt.queued)) for attempt in attempts]

    def of_queue(self, state: QueueState) -> QueueState:
        return QueueState(
            pods=self.of_all(state.pods),
            active=self._of_entries(state.active),
            rejected=self._of_entries(state.rejected),
            errors=self._of_entries(state.errors),
            unschedulable=self.of_all(state.unschedulable),
            in_flight=state.in_flight,
            events=state.events,
        )

    def _of_entries(self, entries: Entries) -> Entries:
        return [(key, self.of(queued)) for key, queued in entries]
