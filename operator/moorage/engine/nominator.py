"""Which waiting pods are nominated to which node: preemption has made, or is making, room for them there.

A nomination is no reservation, but pods of lower priority are only put on the node if they fit beside it (see
`moorage.engine.cycle.filtering`). Upstream: pkg/scheduler/backend/queue/nominator.go.
"""

from collections.abc import Collection

from moorage.model.pods.pod import Pod


class Nominator:
    """Nominated pods by node."""

    def __init__(self) -> None:
        """Start without nominations."""
        self._node_of: dict[str, str] = {}
        self._pods_on: dict[str, dict[str, Pod]] = {}

    @property
    def node_names(self) -> Collection[str]:
        """The nodes that some pod is nominated to."""
        return self._pods_on.keys()

    def node_of(self, uid: str) -> str:
        """Return the node that a pod is nominated to; empty for none."""
        return self._node_of.get(uid, "")

    def pods_on(self, node_name: str) -> Collection[Pod]:
        """Return the pods that are nominated to a node."""
        pods = self._pods_on.get(node_name)
        return pods.values() if pods else ()

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod to a node, instead of to any other; an empty name takes the nomination back."""
        self.remove(pod.uid)
        if node_name:
            self._node_of[pod.uid] = node_name
            self._pods_on.setdefault(node_name, {})[pod.uid] = pod

    def remove(self, uid: str) -> None:
        """Take a pod's nomination back, if there is one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = self._pods_on[node_name]
        del pods[uid]
        if not pods:
            del self._pods_on[node_name]
