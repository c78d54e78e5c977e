"""Decodes objects of the API group storage.k8s.io."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, json

from moorage.model.selectors import Requirement
from moorage.model.volumes.api_storage import (
    ApiCSIDriver,
    ApiCSINode,
    ApiCSIStorageCapacity,
    ApiStorageClass,
    ApiVolumeAttachment,
)
from moorage.model.volumes.decode_fields import decode_bytes, decode_selector
from moorage.model.volumes.storage_objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)

_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


def decode_storage_class(raw: bytes) -> StorageClass:
    """Decode a StorageClass."""
    api = json.decode(raw, type=ApiStorageClass)
    return StorageClass(
        name=api.metadata.name,
        provisioner=api.provisioner,
        volume_binding_mode=api.volume_binding_mode,
        allowed_topologies=tuple(
            tuple(
                Requirement(expression.key, "In", frozenset(expression.values or ()))
                for expression in term.match_label_expressions or ()
            )
            for term in api.allowed_topologies or ()
        ),
    )


def decode_csi_node(raw: bytes) -> CSINode:
    """Decode a CSINode."""
    api = json.decode(raw, type=ApiCSINode)
    drivers = api.spec.drivers or []
    return CSINode(
        name=api.metadata.name,
        drivers=frozenset(driver.name for driver in drivers),
        limits={
            driver.name: driver.allocatable.count
            for driver in drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        },
        migrated_plugins=(api.metadata.annotations or {}).get(_MIGRATED_PLUGINS, ""),
    )


def decode_csi_driver(raw: bytes) -> CSIDriver:
    """Decode a CSIDriver."""
    api = json.decode(raw, type=ApiCSIDriver)
    return CSIDriver(
        name=api.metadata.name,
        storage_capacity=bool(api.spec.storage_capacity),
        prevent_pod_scheduling_if_missing=bool(api.spec.prevent_pod_scheduling_if_missing),
    )


def decode_csi_storage_capacity(raw: bytes) -> CSIStorageCapacity:
    """Decode a CSIStorageCapacity."""
    api = json.decode(raw, type=ApiCSIStorageCapacity)
    return CSIStorageCapacity(
        namespace=api.metadata.namespace or "default",
        name=api.metadata.name,
        class_name=api.storage_class_name,
        capacity_bytes=decode_bytes(api.capacity, "capacity"),
        maximum_volume_size_bytes=decode_bytes(api.maximum_volume_size, "maximumVolumeSize"),
        node_topology=decode_selector(api.node_topology, "nodeTopology"),
    )


def decode_volume_attachment(raw: bytes) -> VolumeAttachment:
    """Decode a VolumeAttachment."""
    api = json.decode(raw, type=ApiVolumeAttachment)
    return VolumeAttachment(
        name=api.metadata.name,
        attacher=api.spec.attacher,
        node_name=api.spec.node_name,
        volume_name=api.spec.source.persistent_volume_name,
    )


STORAGE_DECODERS: Mapping[str, Callable[[bytes], object]] = {
    "StorageClass": decode_storage_class,
    "CSINode": decode_csi_node,
    "CSIDriver": decode_csi_driver,
    "CSIStorageCapacity": decode_csi_storage_capacity,
    "VolumeAttachment": decode_volume_attachment,
}
"""Decoders by kind."""
STORAGE_STRUCTS: Mapping[str, type[Struct]] = {
    "StorageClass": ApiStorageClass,
    "CSINode": ApiCSINode,
    "CSIDriver": ApiCSIDriver,
    "CSIStorageCapacity": ApiCSIStorageCapacity,
    "VolumeAttachment": ApiVolumeAttachment,
}
"""The struct with the fields that the decoder of a kind reads, by kind."""
STORAGE_ANNOTATIONS = frozenset({_MIGRATED_PLUGINS})
"""The annotations that the decoders read."""
