"""The snapshot: what plugins read during one scheduling cycle.

A snapshot reads live columns and is not a copy, because nothing writes to the columns during a cycle. `NodesView` shows
some of the nodes; `NodeWhatIf` shows one node on which preemption adds and removes pods. All views share ids and
vocabularies (of label values, taints, features). Therefore a result that PreFilter computes from the ids of the whole
cluster is valid for every view.

Returned arrays are read-only and contiguous. They have one entry for each node of the view.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.cluster.cluster_state import ClusterState
from moorage.cluster.columns.image_columns import ImageColumn
from moorage.cluster.columns.vocabulary import ClassColumn, LabelColumn
from moorage.cluster.terms.counted_terms import Carried, CarriedKind, CountedTerm

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.volumes.volume_keys import VolumeKey
    from moorage.model.node import Node, Taint
    from moorage.model.pods.pod import HostPort, Pod, PodShape

D = TypeVar("D", bound=np.generic)

_STORAGE_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "VolumeAttachment", "CSINode")
"""Kinds that decide which volume a claim resolves to, where it is attached, and how many volumes a node can attach."""


class Snapshot(ClusterState):
    """A view of all nodes of the cluster, and the base class of the views of fewer nodes."""

    # -- nodes ------------------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Snapshot:
        """The snapshot of all nodes."""
        return self

    @property
    def size(self) -> int:
        """Number of nodes in the view."""
        return self._columns.slots.size

    @property
    def names(self) -> Sequence[str]:
        """Names of the nodes."""
        return self._columns.names

    def node(self, position: int) -> Node:
        """Return the node at a position of the view."""
        return self._columns.nodes[self.slot(position)]

    def position(self, name: str) -> int | None:
        """Return the position of a node, None if the view does not have it."""
        return self._columns.slot_of.get(name)

    def slot(self, position: int) -> int:
        """Return the slot of the node at a position of the view."""
        return position

    @property
    def slots(self) -> IntArray | None:
        """The slots of the view's nodes; None for all nodes of the cluster, in the order of slots."""
        return None

    def slots_at(self, positions: IntArray) -> IntArray:
        """Return the slots of the nodes at positions of the view."""
        return positions

    def gather(self, array: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of an array over all nodes; the snapshot of all nodes returns the array itself."""
        return array

    def gather_rows(self, rows: npt.NDArray[D]) -> npt.NDArray[D]:
        """Return the view's entries of each row of a matrix, whose rows have an entry for each node of the cluster."""
        return rows

    # -- columns ----------------------------------------------------------------------------------------------------

    def allocatable(self, resource: str) -> IntArray:
        """Return the allocatable amount of a resource."""
        return self.gather(self._columns.resources.allocatable(resource))

    def requested(self, resource: str) -> IntArray:
        """Return the amount of a resource that placed pods request."""
        return self.gather(self._columns.resources.requested(resource))

    def non_zero_requested(self, resource: str) -> IntArray:
        """Return the requested amount for scoring; a missing request of cpu or memory counts as a default amount."""
        return self.gather(self._columns.resources.non_zero_requested(resource))

    @property
    def allowed_pods(self) -> IntArray:
        """The allocatable number of pods."""
        return self.gather(self._columns.resources.allowed_pods)

    @property
    def pod_count(self) -> IntArray:
        """Number of placed pods on each node."""
        return self.gather(self._columns.resources.pod_count)

    @property
    def pod_generations(self) -> IntArray:
        """The value of `generations.pods` at the last change of each node's pods; changes in a what-if do not count."""
        return self.gather(self._columns.pod_generations.entries)

    @property
    def last_pod_generation(self) -> int:
        """An upper bound of `pod_generations`."""
        return self.generations.pods

    @property
    def lowest_priority(self) -> IntArray:
        """The lowest priority of the pods on each node; undefined for a node without pods."""
        return self.gather(self._columns.priorities.lowest)

    @property
    def unschedulable(self) -> BoolArray:
        """Nodes that are cordoned."""
        return self.gather(self._columns.unschedulable.entries)

    @property
    def taints(self) -> ClassColumn[tuple[Taint, ...]]:
        """Taints of the nodes."""
        return ClassColumn(self.gather(self._columns.taints.ids), self._columns.taints.values)

    @property
    def declared_features(self) -> ClassColumn[frozenset[str]]:
        """Features that the nodes declare."""
        return ClassColumn(self.gather(self._columns.features.ids), self._columns.features.values)

    def label(self, key: str) -> LabelColumn:
        """Return the column of a label; ids and values are the same in all views."""
        column = self._columns.labels.column(key)
        return LabelColumn(self.gather(column.ids), column.values)

    def image(self, name: str) -> ImageColumn | None:
        """Return the column of an image, None if no node of the cluster has the image."""
        column = self._columns.images.column(name)
        if column is None:
            return None
        return ImageColumn(self.gather(column.present), column.size_bytes, column.node_count)

    def port_in_use(self, port: HostPort) -> BoolArray:
        """Return the nodes on which a host port is in use."""
        return self.gather(self._columns.ports.in_use(port))

    # -- placed pods ------------------------------------------------------------------------------------------------

    def pods_on(self, position: int) -> Collection[Pod]:
        """Return the pods placed on a node."""
        return self._columns.pods_on(self.slot(position))

    def counted(self, term: CountedTerm) -> IntArray:
        """Return how many placed pods match a term."""
        return self.gather(self._columns.placed.counted(term))

    def carried(self, kind: CarriedKind, shape: PodShape) -> Sequence[Carried]:
        """Return the terms that placed pods carry and that match pods of this shape."""
        namespaces, generation = self.namespaces, self.generations.namespaces
        terms = self._columns.placed.carried(kind, shape, namespaces, generation)
        return [Carried(each.term, each.weight, self.gather(each.counts)) for each in terms]

    def volume_limit(self, driver: str) -> IntArray:
        """Return how many volumes of a CSI driver a node can attach, UNLIMITED if its CSINode has no limit."""
        return self.gather(self._columns.attachable_volumes.limits(driver, self._storage_generation))

    def attached_volumes(self, driver: str) -> IntArray:
        """Return, for each node, how many volumes of a CSI driver are attached to the node or used by its pods."""
        return self.gather(self._columns.attachable_volumes.counts(driver, self._storage_generation))

    def volume_in_use(self, volume: VolumeKey) -> BoolArray:
        """Return the nodes on which a pod uses a volume."""
        return self.gather(self._columns.attachable_volumes.in_use(volume, self._storage_generation))

    @property
    def _storage_generation(self) -> tuple[int, ...]:
        return (self.generations.nodes, *self.object_generation(*_STORAGE_KINDS))
