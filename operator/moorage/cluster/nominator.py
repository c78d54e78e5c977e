"""Nominations: the node on which preemption makes room for a waiting pod.

A nomination is not a reservation. The engine puts pods of lower priority on the node only if they fit beside the
nominated pod (see `moorage.engine.cycle.filtering`). Upstream: `pkg/scheduler/backend/queue/nominator.go`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod


class Nominator:
    """Nominated pods by node."""

    def __init__(self) -> None:
        self._node_of: dict[str, str] = {}
        self._pods_on: dict[str, dict[str, Pod]] = {}

    @property
    def node_names(self) -> Collection[str]:
        """Names of the nodes that pods are nominated to."""
        return self._pods_on.keys()

    def node_of(self, uid: str) -> str:
        """Return the name of the node that a pod is nominated to, empty if there is none."""
        return self._node_of.get(uid, "")

    def pods_on(self, node_name: str) -> Collection[Pod]:
        """Return the pods that are nominated to a node."""
        pods = self._pods_on.get(node_name)
        return pods.values() if pods else ()

    @property
    def nominated(self) -> list[tuple[Pod, str]]:
        """The nominated pods with the names of the nodes, node by node."""
        return [(pod, node_name) for node_name, pods in self._pods_on.items() for pod in pods.values()]

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod to a node, and drop its earlier nomination; an empty name only drops the nomination."""
        self.remove(pod.uid)
        if node_name:
            self._node_of[pod.uid] = node_name
            self._pods_on.setdefault(node_name, {})[pod.uid] = pod

    def remove(self, uid: str) -> None:
        """Remove a pod's nomination, if there is one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = self._pods_on[node_name]
        del pods[uid]
        if not pods:
            del self._pods_on[node_name]
