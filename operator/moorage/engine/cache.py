"""The cache: nodes, and pods with a node, including pods that are assumed on a node.

The states of a pod:

                assume                 watch: pod has a node
    (initial) ---------> assumed ----------------------------> added ---> (deleted)
        ^                   |                                    ^   watch: pod is deleted or has finished
        |      forget       |                                    |
        +-------------------+                                    |
        |                     watch: pod has a node              |
        +--------------------------------------------------------+

A pod is assumed when the scheduler has chosen its node. An assumed pod uses resources of the node at once. The pod
stays assumed until the watch delivers the pod with this or another node, or until `forget` is called. There is no
timeout. If the cache does not have a pod's node, the pod uses no resources until the node is added.

Upstream: pkg/scheduler/backend/cache/interface.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.nominator import Nominator
from moorage.cluster.request_mix import MixState
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.volumes.assumed_volumes import AssumedVolumes
from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim

NAMESPACE = "Namespace"


class CacheState(Struct, frozen=True, kw_only=True):
    """The content of a `Cache`. The columns are left out, because they are computed from the objects."""

    nodes: Sequence[Node]
    """The nodes in the order of their slots."""
    zones: Sequence[Sequence[str]]
    """The names of the nodes in the order in which a cycle searches them, zone by zone."""
    placed: Sequence[tuple[Pod, str]]
    pods: Sequence[tuple[Pod, bool]]
    """All pods with a node, and whether each is assumed."""
    pods_on_missing_nodes: Sequence[tuple[str, Pod]]
    objects: Sequence[tuple[str, Sequence[tuple[str, object]]]]
    """For each kind, the pairs of a key and an object."""
    namespaces: Sequence[tuple[str, Mapping[str, str]]]
    assumed_volumes: Sequence[tuple[str, str, str, PersistentVolume | PersistentVolumeClaim]]
    nominated: Sequence[tuple[Pod, str]]
    request_mix: MixState


@dataclass(slots=True)
class _PodState:
    """A pod with a node, assumed or added."""

    pod: Pod
    is_assumed: bool


class Cache:
    """Nodes, pods with a node, nominations and other objects. Only this class writes to the columns."""

    def __init__(self) -> None:
        """Start with an empty cluster."""
        self.nominator = Nominator()
        self._columns = NodeColumns()
        self._volumes = AssumedVolumes(self._columns.objects)
        self._snapshot = Snapshot(self._columns, self.nominator)
        self._pod_states: dict[str, _PodState] = {}
        self._pods_on_missing_nodes: dict[str, dict[str, Pod]] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as plugins read it: a live view, valid until the next write."""
        return self._snapshot

    @property
    def pod_count(self) -> int:
        """The number of pods with a node, including assumed pods and pods on missing nodes."""
        return len(self._pod_states)

    @property
    def assumed_count(self) -> int:
        """The number of assumed pods."""
        return sum(state.is_assumed for state in self._pod_states.values())

    def pods(self) -> Iterator[Pod]:
        """Yield all pods with a node."""
        return (state.pod for state in self._pod_states.values())

    def find(self, uid: str) -> Pod | None:
        """Return a pod with a node."""
        state = self._pod_states.get(uid)
        return state.pod if state else None

    def is_assumed(self, uid: str) -> bool:
        """Return whether a pod is assumed."""
        state = self._pod_states.get(uid)
        return state is not None and state.is_assumed

    def set_node(self, node: Node) -> None:
        """Add a node and the pods that are on it already, or replace the node by its new version."""
        is_new = self._snapshot.position(node.name) is None
        self._columns.set_node(node)
        if is_new:
            for pod in self._pods_on_missing_nodes.pop(node.name, {}).values():
                self._columns.add_pod(pod, node.name)

    def remove_node(self, name: str) -> None:
        """Remove a node if it is here; the cache keeps its pods until `remove_pod`."""
        if self._snapshot.position(name) is None:
            return
        pods = self._columns.remove_node(name)
        if pods:
            self._pods_on_missing_nodes[name] = {pod.uid: pod for pod in pods}

    def set_pod(self, pod: Pod) -> None:
        """Add or replace a pod that the watch delivers with a node. If the pod was assumed, this confirms it."""
        state = self._pod_states.get(pod.uid)
        if state is None:
            self._add_to_node(pod)
        elif not _is_same_to_plugins(state.pod, pod):
            self._remove_from_node(state.pod)
            self._add_to_node(pod)
        self._pod_states[pod.uid] = _PodState(pod, is_assumed=False)

    def remove_pod(self, uid: str) -> Pod | None:
        """Remove and return a pod, assumed or added; return None if it is not here."""
        state = self._pod_states.pop(uid, None)
        if state is None:
            return None
        self._remove_from_node(state.pod)
        if state.is_assumed:
            self._volumes.revert(uid)
        return state.pod

    def assume(self, pod: Pod, node_name: str, intents: Iterable[object] = ()) -> Pod:
        """Assume a pod on a node, apply its intents to the volumes, and return the assumed pod.

        Raise ValueError if the pod has a node.
        """
        if pod.uid in self._pod_states:
            raise ValueError(f"pod {pod.key} is assumed or bound already")
        assumed = replace(pod, node_name=node_name, nominated_node_name="")
        self._add_to_node(assumed)
        self._pod_states[pod.uid] = _PodState(assumed, is_assumed=True)
        self._volumes.assume(pod.uid, intents)
        return assumed

    def forget(self, uid: str) -> bool:
        """Remove an assumed pod. Return False if the pod is not assumed.

        A pod is no longer assumed when the watch has confirmed or removed it.
        """
        if not self.is_assumed(uid):
            return False
        self.remove_pod(uid)
        return True

    def set_object(self, event: ClusterEvent) -> None:
        """Add, replace or remove an object of a kind other than Pod and Node."""
        is_deleted = event.action is Action.DELETE
        thing = event.old if is_deleted else event.new
        objects = self._columns.objects
        if event.kind == NAMESPACE:
            if is_deleted:
                objects.remove_namespace(thing.name)
            else:
                objects.set_namespace(thing.name, thing.labels)
        elif is_deleted:
            self._volumes.remove(event.kind, _key(thing))
        else:
            self._volumes.observe(event.kind, _key(thing), thing)

    def state(self) -> CacheState:
        """Return a copy of all fields. The copy shares the objects, because they never change."""
        columns = self._columns
        return CacheState(
            nodes=list(columns.nodes),
            zones=columns.order.zones,
            placed=list(columns.placed_pods),
            pods=[(state.pod, state.is_assumed) for state in self._pod_states.values()],
            pods_on_missing_nodes=[
                (name, pod) for name, pods in self._pods_on_missing_nodes.items() for pod in pods.values()
            ],
            objects=[(kind, list(objects.items())) for kind, objects in columns.objects.by_kind.items()],
            namespaces=list(columns.objects.namespaces.items()),
            assumed_volumes=self._volumes.state(),
            nominated=self.nominator.nominated,
            request_mix=columns.request_mix.state(),
        )

    def restore(self, state: CacheState) -> None:
        """Add the content of an earlier cache to this cache, which must be empty."""
        columns = self._columns
        for node in state.nodes:
            columns.set_node(node)
        columns.order.restore(state.zones)
        for pod, node_name in state.placed:
            columns.add_pod(pod, node_name)
        self._pod_states = {pod.uid: _PodState(pod, is_assumed) for pod, is_assumed in state.pods}
        for name, pod in state.pods_on_missing_nodes:
            self._pods_on_missing_nodes.setdefault(name, {})[pod.uid] = pod
        for kind, objects in state.objects:
            for key, thing in objects:
                columns.objects.set(kind, key, thing)
        for namespace, labels in state.namespaces:
            columns.objects.set_namespace(namespace, labels)
        self._volumes.restore(state.assumed_volumes)
        for pod, node_name in state.nominated:
            self.nominator.nominate(pod, node_name)
        columns.request_mix.restore(state.request_mix)

    def _add_to_node(self, pod: Pod) -> None:
        if self._snapshot.position(pod.node_name) is None:
            self._pods_on_missing_nodes.setdefault(pod.node_name, {})[pod.uid] = pod
        else:
            self._columns.add_pod(pod, pod.node_name)

    def _remove_from_node(self, pod: Pod) -> None:
        missing = self._pods_on_missing_nodes.get(pod.node_name)
        if missing is None or missing.pop(pod.uid, None) is None:
            self._columns.remove_pod(pod)
        elif not missing:
            del self._pods_on_missing_nodes[pod.node_name]


def _is_same_to_plugins(old: Pod, new: Pod) -> bool:
    """Return whether all plugins read equal values in both versions of a pod."""
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
    """Return an object's `namespace/name`, or its name if its kind has no namespace."""
    namespace: str = getattr(thing, "namespace", "")
    name: str = thing.name  # type: ignore[attr-defined]
    return f"{namespace}/{name}" if namespace else name
