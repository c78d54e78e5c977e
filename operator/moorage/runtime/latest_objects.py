"""A last look before a pod is bound: what the informers know may be newer than what the decision was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.cluster.tolerations import untolerated
from moorage.model.node import Taint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
"""What a cordoned node counts as having."""


class LatestObjects:
    """Looks into the informers' stores."""

    def __init__(self, pods: Mapping[str, Pod], nodes: Mapping[str, Node]) -> None:
        """Look up pods by `namespace/name` and nodes by name."""
        self._pods = pods
        self._nodes = nodes

    def objection(self, pod: Pod, node_name: str) -> str:
        """Say why the pod should not be bound to the node any more; empty if nothing speaks against it."""
        seen = self._pods.get(pod.key)
        if seen is None or seen.uid != pod.uid:
            return f"pod {pod.key} was deleted"
        if seen.terminating:
            return f"pod {pod.key} is being deleted"
        if seen.node_name:
            return f"pod {pod.key} is already assigned to node {seen.node_name}"
        node = self._nodes.get(node_name)
        if node is None:
            return f"node {node_name} was deleted"
        if node.unschedulable and untolerated(pod.shape.tolerations, (UNSCHEDULABLE,)):
            return f"node {node_name} was cordoned"
        return ""

    def waits(self, pod: Pod) -> bool:
        """Whether the pod is still there, not bound, and the same one."""
        return self.exists(pod) and not self._pods[pod.key].node_name

    def exists(self, pod: Pod) -> bool:
        """Whether the pod is still there, and the same one."""
        seen = self._pods.get(pod.key)
        return seen is not None and seen.uid == pod.uid
