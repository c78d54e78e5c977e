"""The writable columns over nodes, which only the engine's cache holds.

The cache must not write during a scheduling cycle. It must not add a pod that has ended or whose node is unknown.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeVar

from moorage.cluster.cluster_objects import ClusterObjects
from moorage.cluster.columns.column import Slots
from moorage.cluster.columns.image_columns import ImageColumns
from moorage.cluster.columns.label_columns import LabelColumns
from moorage.cluster.columns.node_order import NodeOrder
from moorage.cluster.columns.port_columns import PortColumns
from moorage.cluster.columns.priority_column import PriorityColumn
from moorage.cluster.columns.resource_columns import ResourceColumns
from moorage.cluster.columns.vocabulary import VocabularyColumn
from moorage.cluster.generations import Generations
from moorage.cluster.request_mix import RequestMix
from moorage.cluster.terms.placed_shapes import PlacedShapes
from moorage.cluster.volumes.attachable_volumes import AttachableVolumes
from moorage.cluster.volumes.volume_users import VolumeUsers
from moorage.model.node import Node, Taint, scheduling_properties_differ

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod

T = TypeVar("T")


class NodeColumns:
    """Nodes, the pods placed on them, and all columns over the nodes.

    `moorage.cluster.snapshot` reads the attributes. The cache writes other objects to `objects`.
    """

    def __init__(self) -> None:
        self.generations = Generations()
        self.nodes: list[Node] = []
        """Nodes by slot."""
        self.names: list[str] = []
        """Names of nodes by slot."""
        self.slot_of: dict[str, int] = {}
        self.slots = Slots()
        self.resources = ResourceColumns(self.slots)
        self.priorities = PriorityColumn(self.slots)
        self.labels = LabelColumns(self.slots, self.nodes)
        self.unschedulable = self.slots.add_flags()
        self.taints: VocabularyColumn[tuple[Taint, ...]] = VocabularyColumn(self.slots)
        self.features: VocabularyColumn[frozenset[str]] = VocabularyColumn(self.slots)
        self.images = ImageColumns(self.slot_of, self.generations)
        self.ports = PortColumns(self.slots)
        self.placed = PlacedShapes(self.slots, self.slot_of)
        self.order = NodeOrder(self.slot_of)
        self.objects = ClusterObjects(self.generations)
        self.request_mix = RequestMix()
        self.volume_users = VolumeUsers()
        self.attachable_volumes = AttachableVolumes(self.slots, self.slot_of, self.objects.of_kind)
        self.pod_generations = self.slots.add_integers()
        """The value of `generations.pods` at the last change of each node's pods."""
        self._pods: list[dict[str, Pod]] = []
        self._placed: dict[str, tuple[Pod, str]] = {}

    def set_node(self, node: Node) -> None:
        """Add a node or replace it by a new version."""
        slot = self.slot_of.get(node.name)
        if slot is None:
            self._add_node(node)
            return
        old = self.nodes[slot]
        self.nodes[slot] = node
        self.images.replace(node.name, old.images, node.images)
        if scheduling_properties_differ(old, node):
            self.order.update(old, node)
            self.labels.replace(slot, old.labels, node.labels)
            self._write_columns(slot, node)
            self._count_node_change()

    def remove_node(self, name: str) -> Collection[Pod]:
        """Remove a node and its pods; return the pods, which the cache needs if the node comes back."""
        slot = self.slot_of[name]
        node = self.nodes[slot]
        pods = tuple(self._pods[slot].values())
        for pod in pods:
            self.remove_pod(pod)
        self.images.replace(name, node.images, ())
        self.order.remove(node)
        last = self.slots.remove(slot)
        _replace_by_last(self.nodes, slot, last)
        self.names = self.names.copy()  # records of decisions keep the list, and read names by slot later
        _replace_by_last(self.names, slot, last)
        _replace_by_last(self._pods, slot, last)
        del self.slot_of[name]
        if slot != last:
            self.slot_of[self.names[slot]] = slot
        self._count_node_change()
        return pods

    def add_pod(self, pod: Pod, node_name: str) -> None:
        """Place a pod on a node; raise ValueError if the pod is already placed."""
        if pod.uid in self._placed:
            raise ValueError(f"pod {pod.key} is already placed on node {self._placed[pod.uid][1]}")
        slot = self.slot_of[node_name]
        self._placed[pod.uid] = (pod, node_name)
        self._count_pod_change(slot)
        self._pods[slot][pod.uid] = pod
        self.resources.add(pod, slot)
        self.priorities.add(pod, slot, self._pods[slot].values())
        self.placed.add(pod, node_name)
        for port in pod.shape.host_ports:
            self.ports.add(port, slot)
        if pod.shape.volumes:
            self.volume_users.add(pod, node_name)
            self.attachable_volumes.add(pod, node_name)

    def remove_pod(self, pod: Pod) -> None:
        """Remove the placed version of a pod from its node; the method reads only the uid of `pod`."""
        placed, node_name = self._placed.pop(pod.uid)
        slot = self.slot_of[node_name]
        del self._pods[slot][placed.uid]
        self._count_pod_change(slot)
        self.resources.remove(placed, slot)
        self.priorities.remove(placed, slot, self._pods[slot].values())
        self.placed.remove(placed, node_name)
        for port in placed.shape.host_ports:
            self.ports.remove(port, slot)
        if placed.shape.volumes:
            self.volume_users.remove(placed, node_name)
            self.attachable_volumes.remove(placed, node_name)

    @property
    def placed_pods(self) -> Collection[tuple[Pod, str]]:
        """The placed pods with the names of their nodes, in the order in which they were placed."""
        return self._placed.values()

    def pods_on(self, slot: int) -> Collection[Pod]:
        """Return the pods placed on the node of a slot."""
        return self._pods[slot].values()

    def _add_node(self, node: Node) -> None:
        slot = self.slots.append()
        self.nodes.append(node)
        self.names.append(node.name)
        self._pods.append({})
        self.slot_of[node.name] = slot
        self.images.replace(node.name, (), node.images)
        self.order.add(node)
        self.labels.replace(slot, {}, node.labels)
        self._write_columns(slot, node)
        self._count_node_change()

    def _count_pod_change(self, slot: int) -> None:
        self.generations.pods += 1
        self.pod_generations.data[slot] = self.generations.pods

    def _write_columns(self, slot: int, node: Node) -> None:
        self.resources.set_allocatable(slot, node.allocatable)
        self.unschedulable.data[slot] = node.unschedulable
        self.taints.set(slot, node.taints)
        self.features.set(slot, node.declared_features)

    def _count_node_change(self) -> None:
        self.generations.nodes += 1
        self.labels.compact()
        self.taints.compact()
        self.features.compact()


def _replace_by_last(rows: list[T], slot: int, last: int) -> None:
    rows[slot] = rows[last]
    rows.pop()
