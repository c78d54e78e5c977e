"""Checks a decision against the informers' newest objects.

The informers may have received changes that the engine did not know when it decided. This module only checks whether a
decision is still valid for its pod and node. It makes no decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.cluster.tolerations import untolerated
from moorage.errors import StaleDecision
from moorage.model.node import Taint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
"""The check treats a cordoned node as if it had this taint."""


class LatestObjects:
    """The pods and nodes in the informers' stores."""

    def __init__(self, pods: Mapping[str, Pod], nodes: Mapping[str, Node]) -> None:
        """Look up pods by `namespace/name` and nodes by name."""
        self._pods = pods
        self._nodes = nodes

    def check_bind(self, pod: Pod, node_name: str) -> None:
        """Raise StaleDecision if the pod must not be bound to the node any more."""
        latest = self._pods.get(pod.key)
        if latest is None or latest.uid != pod.uid:
            raise StaleDecision("changed", f"pod {pod.key} was deleted")
        if latest.terminating:
            raise StaleDecision("changed", f"pod {pod.key} is being deleted")
        if latest.node_name:
            raise StaleDecision("bound", f"pod {pod.key} is already assigned to node {latest.node_name}")
        node = self._nodes.get(node_name)
        if node is None:
            raise StaleDecision("changed", f"node {node_name} was deleted")
        if node.unschedulable and untolerated(pod.shape.tolerations, (UNSCHEDULABLE,)):
            raise StaleDecision("changed", f"node {node_name} was cordoned")

    def is_pending(self, pod: Pod) -> bool:
        """Return whether the pod exists with the same uid and is not bound."""
        return self.exists(pod) and not self._pods[pod.key].node_name

    def exists(self, pod: Pod) -> bool:
        """Return whether the pod exists with the same uid."""
        latest = self._pods.get(pod.key)
        return latest is not None and latest.uid == pod.uid
