"""Pods that wait for an event: rejected ones, and those that a PreEnqueue plugin holds back.

Pods of one shape that the same plugins rejected are in one group. Events about nodes and about pods that have a node
mean the same to a whole group, so that they are judged once a group, however many pods wait.
"""

from collections.abc import Callable, Iterator

from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.queueing_hints import QueueingStrategy
from moorage.framework.cluster_events import ClusterEvent

SHAPE_KINDS = frozenset({"Node", "Pod"})
"""Kinds whose events mean the same to all pods of a shape. (What happens to a parked pod itself is not asked here.)"""

Judge = Callable[[QueuedPodInfo, ClusterEvent], QueueingStrategy]
_Group = tuple[object, ...]


class UnschedulablePods:
    """The unschedulable and the gated pods."""

    def __init__(self) -> None:
        """Start empty."""
        self._groups: dict[_Group, dict[str, QueuedPodInfo]] = {}
        self._group_of: dict[str, _Group] = {}

    def __len__(self) -> int:
        """Count the pods."""
        return len(self._group_of)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Yield all pods, a group after the other."""
        for group in self._groups.values():
            yield from group.values()

    def add(self, queued: QueuedPodInfo, place: QueueType) -> None:
        """Park a pod as unschedulable or gated."""
        queued.place = place
        pod = queued.pod
        key: _Group = (pod.shape, pod.scheduler_name, pod.priority, queued.rejectors, queued.pending, place)
        self._groups.setdefault(key, {})[pod.uid] = queued
        self._group_of[pod.uid] = key

    def discard(self, uid: str) -> None:
        """Take a pod out, if it is in."""
        key = self._group_of.pop(uid, None)
        if key is None:
            return
        group = self._groups[key]
        del group[uid]
        if not group:
            del self._groups[key]

    def woken_by(self, event: ClusterEvent, judge: Judge) -> list[tuple[QueuedPodInfo, QueueingStrategy]]:
        """Return the pods that an event may have made schedulable, and what becomes of each."""
        woken: list[tuple[QueuedPodInfo, QueueingStrategy]] = []
        for group in self._groups.values():
            woken += self._woken_group(group, event, judge)
        return woken

    def _woken_group(
        self, group: dict[str, QueuedPodInfo], event: ClusterEvent, judge: Judge
    ) -> list[tuple[QueuedPodInfo, QueueingStrategy]]:
        if event.kind not in SHAPE_KINDS:
            verdicts = ((queued, judge(queued, event)) for queued in group.values())
            return [(queued, verdict) for queued, verdict in verdicts if verdict is not QueueingStrategy.SKIP]
        verdict = judge(next(iter(group.values())), event)
        return [(queued, verdict) for queued in group.values()] if verdict is not QueueingStrategy.SKIP else []
