"""Pods that are being bound: they are assumed on a node, and their binding has not finished.

The binding of a pod's volumes may take ten minutes. The queue keeps no events for the pod during this time, because a
failed binding does not make a pod unschedulable. When a binding fails, the pod returns to the queue with its old
`QueuedPodInfo`, which is kept here.

Upstream: pkg/scheduler/schedule_one.go (bindingCycle calls `SchedulingQueue.Done` before PreBind).
"""

from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.model.pods.pod import Pod


class BindingPods:
    """The queue's records of the pods that are being bound, by uid."""

    def __init__(self) -> None:
        """Start empty."""
        self._pods: dict[str, QueuedPodInfo] = {}

    def add(self, queued: QueuedPodInfo) -> None:
        """Add a pod whose binding begins."""
        self._pods[queued.pod.uid] = queued

    def __contains__(self, uid: str) -> bool:
        """Return whether a pod is being bound."""
        return uid in self._pods

    def update(self, pod: Pod) -> None:
        """Replace a pod by its new version. If the binding fails, this version returns to the queue."""
        queued = self._pods.get(pod.uid)
        if queued is not None:
            queued.pod = pod

    def remove(self, uid: str) -> QueuedPodInfo | None:
        """Remove and return a pod; return None if it is not here.

        None means that the pod was deleted, or that the watch confirmed its binding.
        """
        return self._pods.pop(uid, None)

    def all(self) -> list[QueuedPodInfo]:
        """Return the records of all pods."""
        return list(self._pods.values())

    def counts(self) -> dict[str, int]:
        """Return the number of pods by schedulerName."""
        counts: dict[str, int] = {}
        for queued in self._pods.values():
            name = queued.pod.scheduler_name
            counts[name] = counts.get(name, 0) + 1
        return counts
