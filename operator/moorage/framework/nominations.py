"""Pods that preemption has nominated to a node and that are not there yet."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.model.pod import Pod


class Nominations:
    """Nominated pods by node."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod to a node, and no longer to another."""
        self.withdraw(pod.uid)
        self._by_node.setdefault(node_name, {})[pod.uid] = pod
        self._node_of[pod.uid] = node_name

    def withdraw(self, uid: str) -> None:
        """Drop a pod's nomination, if it has one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is not None:
            pods = self._by_node[node_name]
            del pods[uid]
            if not pods:
                del self._by_node[node_name]

    def node_of(self, uid: str) -> str | None:
        """Return the node that a pod is nominated to."""
        return self._node_of.get(uid)

    def on(self, node_name: str) -> Collection[Pod]:
        """Return the pods nominated to a node."""
        pods = self._by_node.get(node_name)
        return pods.values() if pods else ()

    @property
    def node_names(self) -> Collection[str]:
        """All nodes with a nominated pod."""
        return self._by_node.keys()
