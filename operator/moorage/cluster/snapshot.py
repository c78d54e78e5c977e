"""What plugins read: the cluster as columns over nodes, for the length of one cycle.

A snapshot is a view of live columns, not a copy: nobody writes while a cycle runs. `take` gives a view of fewer nodes
whose columns are gathered when first asked for; `what_if` gives one node with columns of its own, on which pods may be
added and removed to try preemption. All views share ids and vocabularies (of label values, taint sets, ...), so what
PreFilter computes by domain on the whole cluster holds for every view.

Arrays are read-only, contiguous, one entry a node of the view, int64 unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.cluster.columns.image_columns import ImageColumn
from moorage.cluster.columns.vocabulary import ClassColumn, LabelColumn
from moorage.cluster.memo import Memo
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CountedTerm

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.generations import Generations
    from moorage.cluster.node_columns import NodeColumns
    from moorage.cluster.volumes.attachable_volumes import VolumeKey
    from moorage.cluster.what_if import NodeWhatIf
    from moorage.model.node import Node, Taint
    from moorage.model.pods.pod import HostPort, Pod, PodShape
    from moorage.model.selectors import Labels

D = TypeVar("D", bound=np.generic)
T = TypeVar("T")


class NominatedPods(Protocol):
    """Who is nominated to which node, as the engine knows it."""

    @property
    def node_names(self) -> Collection[str]:
        """The nodes that some pod is nominated to."""

    def pods_on(self, node_name: str) -> Collection[Pod]:
        """Return the pods that are nominated to a node."""


_STORAGE_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "VolumeAttachment", "CSINode")
"""Objects that say which volume a claim stands for, where it is attached, and how many a node takes."""

Sources = tuple["NodeColumns", NominatedPods | None, Memo]


class Snapshot:
    """The whole cluster; `NodesView` and `NodeWhatIf` are parts of it with the same interface."""

    def __init__(self, columns: NodeColumns, nominated: NominatedPods | None = None, memo: Memo | None = None) -> None:
        self._columns = columns
        self._nominated = nominated
        self._memo = Memo() if memo is None else memo

    # -- which nodes ------------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes."""
        return self

    @property
    def size(self) -> int:
        """How many nodes the view has."""
        return self._columns.slots.size

    @property
    def total_nodes(self) -> int:
        """How many nodes the cluster has."""
        return self._columns.slots.size

    @property
    def names(self) -> Sequence[str]:
        """The nodes' names."""
        return self._columns.names

    @property
    def order(self) -> IntArray:
        """Positions in the whole cluster, in the order in which nodes are looked at: zone by zone in turn."""
        return self._columns.order.slots

    def node(self, position: int) -> Node:
        """Return the node at a position."""
        return self._columns.nodes[self._slot(position)]

    def position(self, name: str) -> int | None:
        """Return where a node is, None where the view does not have it."""
        return self._columns.slot_of.get(name)

    def take(self, positions: IntArray) -> Snapshot:
        """Return a view of the nodes at these positions, in that order."""
        return NodesView(self.cluster, self._sources, self._slots_at(positions))

    def what_if(self, position: int) -> NodeWhatIf:
        """Return one node, on which pods may be added and removed without anybody else seeing it."""
        from moorage.cluster.what_if import NodeWhatIf

        return NodeWhatIf(self.cluster, self._sources, self._slot(position))

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of an array over all nodes of the cluster; of the cluster, the array itself."""
        return array

    # -- columns ----------------------------------------------------------------------------------------------------

    def allocatable(self, resource: str) -> IntArray:
        """Return what nodes offer of a resource."""
        return self.gather(self._columns.resources.allocatable(resource))

    def requested(self, resource: str) -> IntArray:
        """Return what placed pods take of a resource."""
        return self.gather(self._columns.resources.requested(resource))

    def non_zero_requested(self, resource: str) -> IntArray:
        """Return what placed pods take for scoring: of cpu and memory at least a default for each container."""
        return self.gather(self._columns.resources.non_zero_requested(resource))

    @property
    def allowed_pods(self) -> IntArray:
        """How many pods nodes take."""
        return self.gather(self._columns.resources.allowed_pods)

    @property
    def pod_count(self) -> IntArray:
        """How many pods nodes have."""
        return self.gather(self._columns.resources.pod_count)

    @property
    def pod_generations(self) -> IntArray:
        """What `generations.pods` was when the pods of each node last changed; not told of changes in thought."""
        return self.gather(self._columns.pod_generations.view)

    @property
    def last_pod_generation(self) -> int:
        """The highest of `pod_generations`, or a higher one."""
        return self.generations.pods

    @property
    def lowest_priority(self) -> IntArray:
        """The lowest priority of a pod on each node; without meaning where a node has no pods."""
        return self.gather(self._columns.priorities.lowest)

    @property
    def unschedulable(self) -> BoolArray:
        """Which nodes are cordoned."""
        return self.gather(self._columns.unschedulable.view)

    @property
    def taints(self) -> ClassColumn[tuple[Taint, ...]]:
        """The nodes' taints."""
        return ClassColumn(self.gather(self._columns.taints.ids), self._columns.taints.values)

    @property
    def declared_features(self) -> ClassColumn[frozenset[str]]:
        """The features that nodes declare."""
        return ClassColumn(self.gather(self._columns.features.ids), self._columns.features.values)

    def label(self, key: str) -> LabelColumn:
        """Return a label's column; ids and values are the same for all views."""
        column = self._columns.labels.column(key)
        return LabelColumn(self.gather(column.ids), column.values)

    def image(self, name: str) -> ImageColumn | None:
        """Return which nodes have an image, None where no node of the cluster has."""
        column = self._columns.images.column(name)
        if column is None:
            return None
        return ImageColumn(self.gather(column.present), column.size_bytes, column.node_count)

    def port_in_use(self, port: HostPort) -> BoolArray:
        """Return the nodes on which a pod cannot have a host port."""
        return self.gather(self._columns.ports.in_use(port))

    # -- pods -------------------------------------------------------------------------------------------------------

    def pods_on(self, position: int) -> Collection[Pod]:
        """Return the pods placed on a node."""
        return self._columns.pods_on(self._slot(position))

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many placed pods match a term."""
        return self.gather(self._columns.placed.counted(term))

    def carried(self, kind: CarriedKind, shape: PodShape) -> Sequence[Carried]:
        """Return the terms that placed pods carry and that speak of pods of this shape."""
        return [Carried(each.term, each.weight, self.gather(each.counts)) for each in self._carried(kind, shape)]

    def claim_users(self, claim_key: str) -> Collection[Pod]:
        """Return the placed pods of the cluster that use a claim (`namespace/name`)."""
        return self._columns.volume_users.claim_users(claim_key)

    def disk_users(self, disk: tuple[str, ...]) -> Mapping[str, Collection[Pod]]:
        """Return the placed pods of the cluster that mount a legacy disk, by node."""
        return self._columns.volume_users.disk_users(disk)

    def volume_limit(self, driver: str) -> IntArray:
        """Return how many volumes of a CSI driver each node can attach, UNLIMITED where its CSINode does not say."""
        return self.gather(self._columns.attachable_volumes.limits(driver, self._storage_generation))

    def attached_volumes(self, driver: str) -> IntArray:
        """Return how many volumes of a CSI driver each node has attached, or will have for its pods."""
        return self.gather(self._columns.attachable_volumes.counts(driver, self._storage_generation))

    def volume_in_use(self, volume: VolumeKey) -> BoolArray:
        """Return the nodes with a pod that uses a volume."""
        return self.gather(self._columns.attachable_volumes.in_use(volume, self._storage_generation))

    def nominated(self, name: str) -> Collection[Pod]:
        """Return the pods that are nominated to a node."""
        return self._nominated.pods_on(name) if self._nominated else ()

    @property
    def nominated_nodes(self) -> Collection[str]:
        """Names of all nodes of the cluster to which a pod is nominated."""
        return self._nominated.node_names if self._nominated else ()

    # -- the rest of the cluster ------------------------------------------------------------------------------------

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """Labels of all namespaces."""
        return self._columns.objects.namespaces

    def objects(self, kind: str) -> Mapping[str, Any]:
        """Return all objects of a kind by key (`namespace/name`, or `name`)."""
        return self._columns.objects.of_kind(kind)

    def object_generation(self, *kinds: str) -> tuple[int, ...]:
        """Return counters that say whether objects of these kinds changed."""
        return self._columns.objects.generation_of(*kinds)

    @property
    def generations(self) -> Generations:
        """Counters that say what changed."""
        return self._columns.generations

    def memo(self, subject: Hashable, shape: PodShape, generation: Hashable, compute: Callable[[], T]) -> T:
        """Compute once a subject (the plugin, or a name), shape and generation.

        Views share the cluster's: compute node-shaped values on `cluster` and `gather` them.
        """
        return self._memo.get(subject, shape, generation, compute)

    @property
    def _storage_generation(self) -> tuple[int, ...]:
        return (self.generations.nodes, *self.object_generation(*_STORAGE_KINDS))

    @property
    def _sources(self) -> Sources:
        """What all views of the cluster share."""
        return self._columns, self._nominated, self._memo

    def _slot(self, position: int) -> int:
        """Return where the node of the view is in the cluster."""
        return position

    def _slots_at(self, positions: IntArray) -> IntArray:
        """Return where nodes of the view are in the cluster."""
        return positions

    def _carried(self, kind: CarriedKind, shape: PodShape) -> Sequence[Carried]:
        """Return the carried terms with counts of the whole cluster."""
        objects = self._columns.objects
        return self._columns.placed.carried(kind, shape, objects.namespaces, self.generations.namespaces)


class NodesView(Snapshot):
    """Some nodes of the cluster."""

    def __init__(self, cluster: Snapshot, sources: Sources, slots: IntArray) -> None:
        super().__init__(*sources)
        self._cluster = cluster
        self._slots = slots
        self._gathered: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
        self._names: Sequence[str] | None = None
        self._positions: dict[str, int] | None = None
        self._last_pod_generation: int | None = None

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes."""
        return self._cluster

    @property
    def size(self) -> int:
        """How many nodes the view has."""
        return len(self._slots)

    @property
    def names(self) -> Sequence[str]:
        """The nodes' names."""
        if self._names is None:
            names = self._columns.names
            self._names = [names[slot] for slot in self._slots.tolist()]
        return self._names

    def position(self, name: str) -> int | None:
        """Return where a node is, None where the view does not have it."""
        if self._positions is None:
            self._positions = {each: position for position, each in enumerate(self.names)}
        return self._positions.get(name)

    @property
    def last_pod_generation(self) -> int:
        """The highest of `pod_generations`."""
        if self._last_pod_generation is None:
            self._last_pod_generation = int(np.maximum.reduce(self.pod_generations, initial=0))
        return self._last_pod_generation

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of an array over all nodes, gathered once."""
        known = self._gathered.get(id(array))
        if known is None:
            # The source is kept with the result, so that no other array can get its id.
            known = self._gathered[id(array)] = (array, array[self._slots])
            known[1].flags.writeable = False
        return known[1]

    def _slot(self, position: int) -> int:
        return int(self._slots[position])

    def _slots_at(self, positions: IntArray) -> IntArray:
        return self._slots[positions]
