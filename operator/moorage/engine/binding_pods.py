"""Pods that are being bound: they are assumed on a node, and their binding has not finished.

kube-scheduler calls `SchedulingQueue.Done` before PreBind (pkg/scheduler/schedule_one.go, bindingCycle), so that the
queue keeps no events for a pod while its volumes are bound, which may take ten minutes. A failed binding does not
make a pod unschedulable; it returns the pod to the queue. Therefore the pod's `QueuedPodInfo` is kept here.
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

        A pod is not here if it has been deleted or the watch has confirmed its binding.
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
