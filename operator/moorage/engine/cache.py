"""The cache: the cluster as the scheduler believes it to be, pods that it has just decided about included.

A pod's states:

               assume                    watch: pod has a node
    (initial) --------> assumed -------------------------------> added ----> (deleted)
        ^                  |                                       ^  watch: gone, or run to its end
        |      forget      |                                       |
        +------------------+        watch: pod has a node          |
        +----------------------------------------------------------+

An assumed pod takes its place on the node at once. It stays until the watch confirms it (on whatever node), or it is
forgotten; there is no timeout. A pod whose node is unknown is a ghost: it is kept, counts nowhere, and takes its place
as soon as its node comes, or comes back.

Upstream: pkg/scheduler/backend/cache/interface.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.nominator import Nominator
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.volumes.assumed_volumes import AssumedVolumes
from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

NAMESPACE = "Namespace"


@dataclass(slots=True)
class _Known:
    """A pod that has a node."""

    pod: Pod
    is_assumed: bool


class Cache:
    """Nodes, pods with nodes, nominations and other objects. Nobody else writes to the columns."""

    def __init__(self) -> None:
        """Start with an empty cluster."""
        self.nominator = Nominator()
        self._columns = NodeColumns()
        self._volumes = AssumedVolumes(self._columns.objects)
        self._snapshot = Snapshot(self._columns, self.nominator)
        self._known: dict[str, _Known] = {}
        self._ghosts: dict[str, dict[str, Pod]] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as plugins see it: live, and valid as long as nothing is written."""
        return self._snapshot

    @property
    def pod_count(self) -> int:
        """How many pods have a node, assumed ones and ghosts included."""
        return len(self._known)

    @property
    def assumed_count(self) -> int:
        """How many pods are assumed."""
        return sum(known.is_assumed for known in self._known.values())

    def find(self, uid: str) -> Pod | None:
        """Return a pod that has a node."""
        known = self._known.get(uid)
        return known.pod if known else None

    def is_assumed(self, uid: str) -> bool:
        """Whether a pod has a node only because the scheduler says so."""
        known = self._known.get(uid)
        return known is not None and known.is_assumed

    def set_node(self, node: Node) -> None:
        """Add a node, or its new version; ghosts that waited for it take their places."""
        is_new = self._snapshot.position(node.name) is None
        self._columns.set_node(node)
        if is_new:
            for pod in self._ghosts.pop(node.name, {}).values():
                self._columns.add_pod(pod, node.name)

    def remove_node(self, name: str) -> None:
        """Remove a node; pods that are still on it become ghosts."""
        if self._snapshot.position(name) is None:
            return
        pods = self._columns.remove_node(name)
        if pods:
            self._ghosts[name] = {pod.uid: pod for pod in pods}

    def set_pod(self, pod: Pod) -> None:
        """Take in a pod that has a node, from the watch: new, a new version, or the confirmation of an assumed one."""
        known = self._known.get(pod.uid)
        if known is None:
            self._place(pod)
        elif not _alike(known.pod, pod):
            self._displace(known.pod)
            self._place(pod)
        self._known[pod.uid] = _Known(pod, is_assumed=False)

    def remove_pod(self, uid: str) -> Pod | None:
        """Drop a pod, assumed or not; return it if it had a node."""
        known = self._known.pop(uid, None)
        if known is None:
            return None
        self._displace(known.pod)
        if known.is_assumed:
            self._volumes.revert(uid)
        return known.pod

    def assume(self, pod: Pod, node_name: str, intents: Iterable[object] = ()) -> Pod:
        """Put a pod on the node that was chosen for it, and return it as it will be; it must not have one yet.

        What the intents say of volumes is taken to be so, too.
        """
        if pod.uid in self._known:
            raise ValueError(f"pod {pod.key} has a node already")
        assumed = replace(pod, node_name=node_name, nominated_node_name="", raw=b"")
        self._place(assumed)
        self._known[pod.uid] = _Known(assumed, is_assumed=True)
        self._volumes.assume(pod.uid, intents)
        return assumed

    def forget(self, uid: str) -> bool:
        """Undo an assumption; False where there is none, as when the watch has confirmed the pod meanwhile."""
        if not self.is_assumed(uid):
            return False
        self.remove_pod(uid)
        return True

    def set_object(self, event: ClusterEvent) -> None:
        """Take in an object that is neither a pod nor a node."""
        is_gone = event.action is Action.DELETE
        thing = event.old if is_gone else event.new
        objects = self._columns.objects
        if event.kind == NAMESPACE:
            if is_gone:
                objects.remove_namespace(thing.name)
            else:
                objects.set_namespace(thing.name, thing.labels)
        elif is_gone:
            self._volumes.remove(event.kind, _key(thing))
        else:
            self._volumes.observe(event.kind, _key(thing), thing)

    def _place(self, pod: Pod) -> None:
        if self._snapshot.position(pod.node_name) is None:
            self._ghosts.setdefault(pod.node_name, {})[pod.uid] = pod
        else:
            self._columns.add_pod(pod, pod.node_name)

    def _displace(self, pod: Pod) -> None:
        ghosts = self._ghosts.get(pod.node_name)
        if ghosts is None or ghosts.pop(pod.uid, None) is None:
            self._columns.remove_pod(pod)
        elif not ghosts:
            del self._ghosts[pod.node_name]


def _alike(old: Pod, new: Pod) -> bool:
    """Whether a pod's new version means the same to every plugin (as most confirmations of assumed pods do)."""
    return (
        old.shape is new.shape
        and old.node_name == new.node_name
        and old.requests == new.requests
        and old.non_zero_requests == new.non_zero_requests
        and old.terminating == new.terminating
        and old.priority == new.priority
        and old.start_time == new.start_time
        and old.disruption_target == new.disruption_target
    )


def _key(thing: object) -> str:
    """Return an object's `namespace/name`, or its name where its kind has no namespace."""
    namespace: str = getattr(thing, "namespace", "")
    name: str = thing.name  # type: ignore[attr-defined]
    return f"{namespace}/{name}" if namespace else name
