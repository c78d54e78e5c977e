"""The kinds of objects in an inventory: the kinds that the informers watch for the engine, and SchedulingPolicy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

POLICY = "SchedulingPolicy"


@dataclass(frozen=True, slots=True)
class InventoryKind:
    """One kind of an inventory."""

    kind: str
    api_version: str
    namespaced: bool = False


_STORAGE = "storage.k8s.io/v1"

KINDS: Mapping[str, InventoryKind] = {
    each.kind: each
    for each in (
        InventoryKind(POLICY, "scheduling.moorage.dev/v1alpha1"),
        InventoryKind("Namespace", "v1"),
        InventoryKind("Node", "v1"),
        InventoryKind("StorageClass", _STORAGE),
        InventoryKind("PersistentVolume", "v1"),
        InventoryKind("PersistentVolumeClaim", "v1", namespaced=True),
        InventoryKind("CSINode", _STORAGE),
        InventoryKind("CSIDriver", _STORAGE),
        InventoryKind("CSIStorageCapacity", _STORAGE, namespaced=True),
        InventoryKind("VolumeAttachment", _STORAGE),
        InventoryKind("DeviceClass", "resource.k8s.io/v1"),
        InventoryKind("Service", "v1", namespaced=True),
        InventoryKind("ReplicationController", "v1", namespaced=True),
        InventoryKind("ReplicaSet", "apps/v1", namespaced=True),
        InventoryKind("StatefulSet", "apps/v1", namespaced=True),
        InventoryKind("PodDisruptionBudget", "policy/v1", namespaced=True),
        InventoryKind("Pod", "v1", namespaced=True),
    )
}
"""The kinds in the order of a dump file. A kind comes before the kinds that refer to it."""

ENGINE_KINDS = tuple(kind for kind in KINDS if kind != POLICY)
"""The kinds that the engine reads: all except policies, which become profiles."""
