"""Counts for each node how many volumes of each CSI driver are attached or used by its pods.

A pod's claim resolves to a volume key through the bound PersistentVolume or, before binding, through the StorageClass.
The counts therefore depend on storage objects as well as on pods. A read resolves the claims again only if storage
objects or nodes have changed since the last read. Otherwise a pod that is added or removed costs one addition for each
of its volumes.

Upstream: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from moorage.model.volumes.csi_translation import (
    AWS_EBS_DRIVER,
    GCE_PD_DRIVER,
    MIGRATED_PROVISIONERS,
    ebs_volume_id,
    gce_volume_handle,
)
from moorage.model.volumes.storage_objects import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.columns.column import Column, Slots
    from moorage.model.pods.pod import Pod
    from moorage.model.pods.pod_volume import PodVolume

Objects = Callable[[str], Mapping[str, Any]]
"""A function that returns the objects of a kind by key: `namespace/name`, or `name` without a namespace."""

UNLIMITED = int(np.iinfo(np.int64).max)
"""The limit of a node whose CSINode has no limit for the driver."""


class VolumeKey(NamedTuple):
    """The identity of a volume for its CSI driver."""

    driver: str
    handle: str


_Source = str | VolumeKey


class AttachableVolumes:
    """Attachable volumes by node; only the columns write to it.

    A pod's volume has a source: the key of a claim, or the volume key of an in-tree disk. The first read resolves the
    sources to volume keys; a read after a change of storage objects or nodes resolves them again.
    """

    def __init__(self, slots: Slots, slot_of: Mapping[str, int], objects: Objects) -> None:
        self._slots = slots
        self._slot_of = slot_of
        self._objects = objects
        self._generation: Hashable | None = None
        self._sources: dict[_Source, Counter[str]] = {}
        """How many pods on each node use a source."""
        self._volumes: dict[_Source, VolumeKey | None] = {}
        """The result of the last resolution of each source."""
        self._users: dict[VolumeKey, Counter[str]] = {}
        """How many sources on each node resolve to a volume."""
        self._attached: dict[str, set[VolumeKey]] = {}
        self._columns: dict[str, Column[np.int64]] = {}
        self._limits: dict[str, IntArray] = {}

    def add(self, pod: Pod, node_name: str) -> None:
        """Count the volumes of a placed pod."""
        for source in set(_sources(pod)):
            nodes = self._sources.setdefault(source, Counter())
            nodes[node_name] += 1
            if nodes[node_name] == 1 and self._generation is not None:
                if source not in self._volumes:
                    self._volumes[source] = _resolve(source, self._objects)
                self._count_source(self._volumes[source], node_name, 1)

    def remove(self, pod: Pod, node_name: str) -> None:
        """Stop counting the volumes of a pod that was added."""
        for source in set(_sources(pod)):
            nodes = self._sources[source]
            nodes[node_name] -= 1
            if not nodes[node_name]:
                del nodes[node_name]
                self._count_source(self._volumes.get(source), node_name, -1)
            if not nodes:
                del self._sources[source]
                self._volumes.pop(source, None)

    def counts(self, driver: str, generation: Hashable) -> IntArray:
        """Return how many volumes of a driver are attached to each node or used by its pods."""
        self._refresh(generation)
        return self._column(driver).entries

    def limits(self, driver: str, generation: Hashable) -> IntArray:
        """Return how many volumes of a driver each node can attach, UNLIMITED if its CSINode has no limit."""
        self._refresh(generation)
        if driver not in self._limits:
            limits = np.full(self._slots.size, UNLIMITED, np.int64)
            csi_node: CSINode
            for csi_node in self._objects("CSINode").values():
                slot = self._slot_of.get(csi_node.name)
                if slot is not None:
                    limits[slot] = csi_node.limits.get(driver, UNLIMITED)
            self._limits[driver] = limits
        return self._limits[driver]

    def in_use(self, key: VolumeKey, generation: Hashable) -> BoolArray:
        """Return the nodes on which a pod uses the volume."""
        self._refresh(generation)
        using = np.zeros(self._slots.size, np.bool_)
        using[[self._slot_of[node_name] for node_name in self._users.get(key, ())]] = True
        return using

    def count_for(self, pods: Iterable[Pod], node_name: str, driver: str, generation: Hashable) -> int:
        """Return the count of a node as if `pods` were the pods on it."""
        self._refresh(generation)
        keys = {key for pod in pods for key in attachable_volumes(pod, self._objects)}
        return sum(key.driver == driver for key in keys | self._attached.get(node_name, set()))

    def _refresh(self, generation: Hashable) -> None:
        """Update limits, attachments and resolved sources if the generation has changed since the last read."""
        if generation == self._generation:
            return
        self._generation = generation
        self._limits = {}
        self._refresh_attachments()
        for source, nodes in self._sources.items():
            before, after = self._volumes.get(source), _resolve(source, self._objects)
            self._volumes[source] = after
            if before != after:
                for node_name in nodes:
                    self._count_source(before, node_name, -1)
                    self._count_source(after, node_name, 1)

    def _refresh_attachments(self) -> None:
        before, self._attached = self._attached, {}
        for key, node_name in self._attachments():
            self._attached.setdefault(node_name, set()).add(key)
        for node_name in before.keys() | self._attached.keys():
            earlier, attached = before.get(node_name, set()), self._attached.get(node_name, set())
            for key in earlier ^ attached:
                if node_name in self._slot_of and node_name not in self._users.get(key, ()):
                    self._change_count(key, node_name, 1 if key in attached else -1)

    def _count_source(self, key: VolumeKey | None, node_name: str, change: int) -> None:
        """Add `change` (1 or -1) to the number of sources on a node that resolve to a volume."""
        if key is None:
            return
        nodes = self._users.setdefault(key, Counter())
        nodes[node_name] += change
        first, last = nodes[node_name] == 1 and change > 0, not nodes[node_name]
        if last:
            del nodes[node_name]
            if not nodes:
                del self._users[key]
        if (first or last) and key not in self._attached.get(node_name, ()):
            self._change_count(key, node_name, change)

    def _change_count(self, key: VolumeKey, node_name: str, change: int) -> None:
        self._column(key.driver).data[self._slot_of[node_name]] += change

    def _column(self, driver: str) -> Column[np.int64]:
        if driver not in self._columns:
            self._columns[driver] = self._slots.add_integers()
        return self._columns[driver]

    def _attachments(self) -> Iterator[tuple[VolumeKey, str]]:
        """Yield the attached volumes of known nodes, except in-tree volumes."""
        volumes = self._objects("PersistentVolume")
        attachment: VolumeAttachment
        for attachment in self._objects("VolumeAttachment").values():
            volume: PersistentVolume | None = volumes.get(attachment.volume_name or "")
            if volume is None or volume.in_tree or not (volume.csi_driver and attachment.attacher):
                continue
            if attachment.node_name in self._slot_of:
                yield VolumeKey(attachment.attacher, volume.csi_handle), attachment.node_name


def is_attachable(volume: PodVolume) -> bool:
    """Return whether a CSI driver may have to attach the volume: a claim, or an in-tree disk migrated to CSI."""
    return volume.is_claim or (volume.disk is not None and volume.disk[0] in {"aws", "gce"})


def attachable_volumes(pod: Pod, objects: Objects) -> Iterator[VolumeKey]:
    """Yield keys of the pod's volumes whose CSI driver is known."""
    for source in _sources(pod):
        key = _resolve(source, objects)
        if key is not None:
            yield key


def _sources(pod: Pod) -> Iterator[_Source]:
    """Yield the keys of the pod's claims and of its in-tree disks that have migrated to CSI."""
    for volume in pod.shape.volumes:
        if volume.is_claim:
            yield f"{pod.namespace}/{volume.claim_of(pod.name)}"
            continue
        match volume.disk:
            case ("aws", name):
                yield VolumeKey(AWS_EBS_DRIVER, ebs_volume_id(name))
            case ("gce", name):
                yield VolumeKey(GCE_PD_DRIVER, gce_volume_handle(name))


def _resolve(source: _Source, objects: Objects) -> VolumeKey | None:
    if isinstance(source, VolumeKey):
        return source
    claim: PersistentVolumeClaim | None = objects("PersistentVolumeClaim").get(source)
    if claim is None:
        return None
    volume: PersistentVolume | None = objects("PersistentVolume").get(claim.volume_name)
    if volume is None:
        return _unprovisioned_volume(claim, objects)
    if not volume.csi_driver or not volume.csi_handle:
        return None
    return VolumeKey(volume.csi_driver, volume.csi_handle)


def _unprovisioned_volume(claim: PersistentVolumeClaim, objects: Objects) -> VolumeKey | None:
    """Return a key made from the claim for a volume that the claim's class is going to provision."""
    storage_class: StorageClass | None = objects("StorageClass").get(claim.class_name)
    if storage_class is None or not storage_class.provisioner:
        return None
    provisioner = storage_class.provisioner
    return VolumeKey(MIGRATED_PROVISIONERS.get(provisioner, provisioner), f"claim {claim.key}")
