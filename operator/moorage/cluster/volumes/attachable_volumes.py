"""Counts, for each node and CSI driver, the volumes that are attached to the node or used by its pods.

The volume key of a claim depends on storage objects (see `volume_keys`), and so do the counts. A read resolves all
claims again if storage objects or nodes have changed since the last read. Otherwise a pod that is added or removed
costs one addition for each of its volumes.

Upstream: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.volumes.volume_keys import VolumeKey, VolumeSource, resolve, volume_keys, volume_sources
from moorage.model.volumes.storage_objects import CSINode, PersistentVolume, VolumeAttachment

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.columns.column import Column, Slots
    from moorage.cluster.volumes.volume_keys import Objects
    from moorage.model.pods.pod import Pod

UNLIMITED = int(np.iinfo(np.int64).max)
"""The limit of a node whose CSINode has no limit for the driver."""


class AttachableVolumes:
    """Attachable volumes by node; only the columns write to it.

    The first read resolves the sources of all pods to volume keys; a read after a change of storage objects or nodes
    resolves them again.
    """

    def __init__(self, slots: Slots, slot_of: Mapping[str, int], objects: Objects) -> None:
        self._slots = slots
        self._slot_of = slot_of
        self._objects = objects
        self._generation: Hashable | None = None
        self._sources: dict[VolumeSource, Counter[str]] = {}
        """For each source, the number of pods that use it, by node."""
        self._volumes: dict[VolumeSource, VolumeKey | None] = {}
        """The result of the last resolution of each source."""
        self._users: dict[VolumeKey, Counter[str]] = {}
        """For each volume, the number of sources that resolve to it, by node."""
        self._attached: dict[str, set[VolumeKey]] = {}
        self._columns: dict[str, Column[np.int64]] = {}
        self._limits: dict[str, IntArray] = {}

    def add(self, pod: Pod, node_name: str) -> None:
        """Count the volumes of a placed pod."""
        for source in set(volume_sources(pod)):
            nodes = self._sources.setdefault(source, Counter())
            nodes[node_name] += 1
            if nodes[node_name] == 1 and self._generation is not None:
                if source not in self._volumes:
                    self._volumes[source] = resolve(source, self._objects)
                self._count_source(self._volumes[source], node_name, 1)

    def remove(self, pod: Pod, node_name: str) -> None:
        """Stop counting the volumes of a pod that was added."""
        for source in set(volume_sources(pod)):
            nodes = self._sources[source]
            nodes[node_name] -= 1
            if not nodes[node_name]:
                del nodes[node_name]
                self._count_source(self._volumes.get(source), node_name, -1)
            if not nodes:
                del self._sources[source]
                self._volumes.pop(source, None)

    def counts(self, driver: str, generation: Hashable) -> IntArray:
        """Return, for each node, how many volumes of a driver are attached to the node or used by its pods."""
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
        """Return the number of a driver's volumes on a node, as `counts` would if exactly `pods` were on the node."""
        self._refresh(generation)
        keys = {key for pod in pods for key in volume_keys(pod, self._objects)}
        return sum(key.driver == driver for key in keys | self._attached.get(node_name, set()))

    def _refresh(self, generation: Hashable) -> None:
        """Update limits, attachments and resolved sources if the generation has changed since the last read."""
        if generation == self._generation:
            return
        self._generation = generation
        self._limits = {}
        self._refresh_attachments()
        for source, nodes in self._sources.items():
            before, after = self._volumes.get(source), resolve(source, self._objects)
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
        """Add `change` (1 or -1) to the number of a node's sources that resolve to a volume."""
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
