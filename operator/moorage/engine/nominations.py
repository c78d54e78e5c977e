"""Changes of nominations. Each change updates both the pod's record in the queue and the nominator."""

from msgspec.structs import replace

from moorage.cluster.nominator import Nominator
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.model.pods.pod import Pod


class Nominations:
    """The nominations that preemption sets and clears."""

    def __init__(self, nominator: Nominator, queue: SchedulingQueue) -> None:
        """Write to `nominator`, and to the pods of `queue`."""
        self._nominator = nominator
        self._queue = queue

    def set(self, queued: QueuedPodInfo, node_name: str | None) -> str | None:
        """Nominate a pod to a node. An empty name clears the pod's nomination; None keeps the nomination.

        Return the new value of `status.nominatedNodeName`; None if the value does not change.
        """
        pod = queued.pod
        if node_name is None or node_name == pod.nominated_node_name:
            return None
        queued.pod = replace(pod, nominated_node_name=node_name)
        self._nominator.nominate(queued.pod, node_name)
        return node_name

    def clear(self, queued: QueuedPodInfo, node_name: str) -> None:
        """Clear a pod's nomination if the pod is nominated to this node."""
        if self._nominator.node_of(queued.pod.uid) == node_name:
            self.set(queued, "")

    def displace(self, pod: Pod, node_name: str | None) -> list[Pod]:
        """Clear the nominations of all pods that are nominated to a node and have a lower priority than `pod`.

        Return these pods.

        Upstream: pkg/scheduler/framework/preemption/executor.go (getLowerPriorityNominatedPods).
        """
        if not node_name:
            return []
        displaced = [other for other in self._nominator.pods_on(node_name) if other.priority < pod.priority]
        for other in displaced:
            self._nominator.remove(other.uid)
            queued = self._queue.find(other.uid)
            if queued is not None:
                queued.pod = replace(queued.pod, nominated_node_name="")
        return displaced
