"""The state of a scheduling queue: its pods in their order, for a copy of the queue."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from moorage.engine.queue.backoff_queue import BackoffQueue
from moorage.engine.queue.in_flight import InFlight
from moorage.engine.queue.pod_heap import Key, PodHeap
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.queue.unschedulable_pods import UnschedulablePods
from moorage.framework.cluster_events import ClusterEvent

Entries = Sequence[tuple[Key, QueuedPodInfo]]


@dataclass(frozen=True, slots=True)
class QueueParts:
    """The parts of a scheduling queue that have state."""

    pods: dict[str, QueuedPodInfo]
    active: PodHeap
    backoff: BackoffQueue
    unschedulable: UnschedulablePods
    in_flight: InFlight


class QueueState(Struct, frozen=True, kw_only=True):
    """The state of a scheduling queue."""

    pods: Sequence[QueuedPodInfo]
    active: Entries
    rejected: Entries
    errors: Entries
    unschedulable: Sequence[QueuedPodInfo]
    """The unschedulable and the gated pods, group by group."""
    in_flight: Sequence[tuple[str, int]]
    """The uids, each with the number of `events` from before its attempt."""
    events: Sequence[ClusterEvent]


def queue_state(parts: QueueParts) -> QueueState:
    """Return the pods of all queues in their order. The records are shared, not copied."""
    rejected, errors = parts.backoff.entries()
    starts, events = parts.in_flight.state()
    return QueueState(
        pods=list(parts.pods.values()),
        active=parts.active.entries(),
        rejected=rejected,
        errors=errors,
        unschedulable=list(parts.unschedulable),
        in_flight=starts,
        events=events,
    )


def restore_queue(parts: QueueParts, state: QueueState) -> None:
    """Restore the state of an earlier queue in an empty one."""
    parts.pods.update((queued.pod.uid, queued) for queued in state.pods)
    for key, queued in state.active:
        parts.active.push(queued, key)
    parts.backoff.restore(state.rejected, state.errors)
    for queued in state.unschedulable:
        parts.unschedulable.add(queued, queued.queue)
    parts.in_flight.restore(state.in_flight, state.events)
