"""Pods that wait for an event: unschedulable pods, and gated pods.

Pods that have the same shape and were rejected by the same plugins form one group. If an event is about a node or a
pod with a node, a plugin's hint is the same for the whole group. So the plugin is asked only once for each group.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (unschedulablePods).
"""

from collections.abc import Callable, Iterator

from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.queueing_hints import QueueingStrategy
from moorage.framework.cluster_events import ClusterEvent

SHAPE_KINDS = frozenset({"Node", "Pod"})
"""The kinds whose hints are the same for all pods of a shape. Updates of a waiting pod itself do not come here, because
`SchedulingQueue.update` handles them."""

StrategyFor = Callable[[QueuedPodInfo, ClusterEvent], QueueingStrategy]
_Group = tuple[object, ...]
_Requeued = tuple[QueuedPodInfo, QueueingStrategy]


class UnschedulablePods:
    """The unschedulable pods and the gated pods."""

    def __init__(self) -> None:
        """Start empty."""
        self._groups: dict[_Group, dict[str, QueuedPodInfo]] = {}
        self._group_of: dict[str, _Group] = {}

    def __len__(self) -> int:
        """Return the number of pods."""
        return len(self._group_of)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Yield all pods, group by group."""
        for group in self._groups.values():
            yield from group.values()

    def add(self, queued: QueuedPodInfo, queue: QueueType) -> None:
        """Add a pod as unschedulable or as gated."""
        queued.queue = queue
        pod = queued.pod
        plugins = (queued.unschedulable_plugins, queued.pending_plugins)
        key: _Group = (pod.shape, pod.scheduler_name, pod.priority, *plugins, queue)
        self._groups.setdefault(key, {})[pod.uid] = queued
        self._group_of[pod.uid] = key

    def discard(self, uid: str) -> None:
        """Remove a pod if it is here."""
        key = self._group_of.pop(uid, None)
        if key is None:
            return
        group = self._groups[key]
        del group[uid]
        if not group:
            del self._groups[key]

    def to_requeue(self, event: ClusterEvent, strategy_for: StrategyFor) -> list[_Requeued]:
        """Return the pods that an event may make schedulable, each with its strategy."""
        found: list[_Requeued] = []
        for group in self._groups.values():
            found += _group_to_requeue(group, event, strategy_for)
        return found


def _group_to_requeue(
    group: dict[str, QueuedPodInfo], event: ClusterEvent, strategy_for: StrategyFor
) -> list[_Requeued]:
    if event.kind not in SHAPE_KINDS:
        strategies = ((queued, strategy_for(queued, event)) for queued in group.values())
        return [(queued, strategy) for queued, strategy in strategies if strategy is not QueueingStrategy.SKIP]
    strategy = strategy_for(next(iter(group.values())), event)
    return [(queued, strategy) for queued in group.values()] if strategy is not QueueingStrategy.SKIP else []
