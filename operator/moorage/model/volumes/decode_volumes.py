"""Storage objects: from raw bytes to what scheduling reads of them.

An amount or selector that cannot be read raises ValueError with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import json

from moorage.model.decode_selectors import label_selector, node_selector
from moorage.model.pods.api_constraints import ApiLabelSelector
from moorage.model.quantity import Amount, value
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.volumes.api_volumes import (
    ApiClaim,
    ApiCSIDriver,
    ApiCSINode,
    ApiCSIStorageCapacity,
    ApiPersistentVolume,
    ApiStorageClass,
    ApiVolumeAttachment,
)
from moorage.model.volumes.storage_objects import (
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_STORAGE = "storage"
_FILESYSTEM = "Filesystem"

AWS_EBS_DRIVER = "ebs.csi.aws.com"
AZURE_DISK_DRIVER = "disk.csi.azure.com"
GCE_PD_DRIVER = "pd.csi.storage.gke.io"


def persistent_volume_claim(raw: bytes) -> PersistentVolumeClaim:
    """Digest a claim."""
    wire = json.decode(raw, type=ApiClaim)
    metadata, spec = wire.metadata, wire.spec
    annotations = metadata.annotations or {}
    owners = (owner.uid for owner in metadata.owner_references or () if owner.controller)
    return PersistentVolumeClaim(
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        volume_name=spec.volume_name,
        bind_completed=_BIND_COMPLETED in annotations,
        selected_node=annotations.get(_SELECTED_NODE),
        class_name=annotations.get(_STORAGE_CLASS, spec.storage_class_name or ""),
        access_modes=frozenset(spec.access_modes or ()),
        request_bytes=_bytes((spec.resources.requests or {}).get(_STORAGE), "spec.resources.requests.storage"),
        volume_mode=spec.volume_mode or _FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        selector=_selector(spec.selector, "spec.selector"),
        phase=wire.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        owner_uid=next(owners, ""),
    )


def persistent_volume(raw: bytes) -> PersistentVolume:
    """Digest a volume."""
    wire = json.decode(raw, type=ApiPersistentVolume)
    metadata, spec = wire.metadata, wire.spec
    required = spec.node_affinity and spec.node_affinity.required
    reference = spec.claim_ref
    driver, handle = _csi_source(wire)
    return PersistentVolume(
        name=metadata.name,
        resource_version=metadata.resource_version,
        labels=metadata.labels or {},
        capacity_bytes=_bytes((spec.capacity or {}).get(_STORAGE), "spec.capacity.storage") or 0,
        class_name=(metadata.annotations or {}).get(_STORAGE_CLASS, spec.storage_class_name),
        access_modes=frozenset(spec.access_modes or ()),
        volume_mode=spec.volume_mode or _FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        node_affinity=node_selector(required) if required else None,
        claim_ref=ClaimRef(reference.namespace, reference.name, reference.uid) if reference else None,
        phase=wire.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        csi_driver=driver,
        csi_handle=handle,
        in_tree=bool(driver) and spec.csi is None,
    )


def storage_class(raw: bytes) -> StorageClass:
    """Digest a storage class."""
    wire = json.decode(raw, type=ApiStorageClass)
    return StorageClass(
        name=wire.metadata.name,
        provisioner=wire.provisioner,
        volume_binding_mode=wire.volume_binding_mode,
        allowed_topologies=tuple(
            tuple(
                Requirement(expression.key, "In", frozenset(expression.values or ()))
                for expression in term.match_label_expressions or ()
            )
            for term in wire.allowed_topologies or ()
        ),
    )


def csi_node(raw: bytes) -> CSINode:
    """Digest what CSI drivers say of a node."""
    wire = json.decode(raw, type=ApiCSINode)
    drivers = wire.spec.drivers or []
    return CSINode(
        name=wire.metadata.name,
        drivers=frozenset(driver.name for driver in drivers),
        limits={
            driver.name: driver.allocatable.count
            for driver in drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        },
        migrated_plugins=(wire.metadata.annotations or {}).get(_MIGRATED_PLUGINS, ""),
    )


def csi_driver(raw: bytes) -> CSIDriver:
    """Digest a CSI driver."""
    wire = json.decode(raw, type=ApiCSIDriver)
    return CSIDriver(
        name=wire.metadata.name,
        storage_capacity=bool(wire.spec.storage_capacity),
        prevent_pod_scheduling_if_missing=bool(wire.spec.prevent_pod_scheduling_if_missing),
    )


def csi_storage_capacity(raw: bytes) -> CSIStorageCapacity:
    """Digest a storage capacity."""
    wire = json.decode(raw, type=ApiCSIStorageCapacity)
    return CSIStorageCapacity(
        namespace=wire.metadata.namespace or "default",
        name=wire.metadata.name,
        class_name=wire.storage_class_name,
        capacity_bytes=_bytes(wire.capacity, "capacity"),
        maximum_volume_size_bytes=_bytes(wire.maximum_volume_size, "maximumVolumeSize"),
        node_topology=_selector(wire.node_topology, "nodeTopology"),
    )


def volume_attachment(raw: bytes) -> VolumeAttachment:
    """Digest an attachment."""
    wire = json.decode(raw, type=ApiVolumeAttachment)
    return VolumeAttachment(
        name=wire.metadata.name,
        attacher=wire.spec.attacher,
        node_name=wire.spec.node_name,
        volume_name=wire.spec.source.persistent_volume_name,
    )


STORAGE_DIGESTS: Mapping[str, Callable[[bytes], object]] = {
    "PersistentVolumeClaim": persistent_volume_claim,
    "PersistentVolume": persistent_volume,
    "StorageClass": storage_class,
    "CSINode": csi_node,
    "CSIDriver": csi_driver,
    "CSIStorageCapacity": csi_storage_capacity,
    "VolumeAttachment": volume_attachment,
}
"""How an object of each kind is digested."""


def _bytes(amount: Amount | None, path: str) -> int | None:
    if amount is None:
        return None
    try:
        return value(amount)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _selector(wire: ApiLabelSelector | None, path: str) -> LabelSelector | None:
    try:
        return label_selector(wire)
    except ValueError as error:
        raise ValueError(f"{path}.{error}") from error


def _csi_source(wire: ApiPersistentVolume) -> tuple[str, str]:
    """Return driver and handle, for in-tree disks those that they have moved to (upstream: csi-translation-lib)."""
    spec = wire.spec
    if spec.csi:
        return spec.csi.driver, spec.csi.volume_handle
    if spec.aws_elastic_block_store:
        return AWS_EBS_DRIVER, ebs_volume_id(spec.aws_elastic_block_store.volume_id)
    if spec.gce_persistent_disk:
        labels = wire.metadata.labels or {}
        zone = labels.get("failure-domain.beta.kubernetes.io/zone") or labels.get("topology.kubernetes.io/zone")
        return GCE_PD_DRIVER, gce_volume_handle(spec.gce_persistent_disk.pd_name, zone)
    if spec.azure_disk:
        return AZURE_DISK_DRIVER, spec.azure_disk.disk_uri
    return "", ""


def ebs_volume_id(volume: str) -> str:
    """Return the bare id of a volume that may be written as `aws://zone/vol-0123`."""
    return urlsplit(volume).path.strip("/") if volume.startswith("aws://") else volume


def gce_volume_handle(disk: str, zone: str | None = None) -> str:
    """Return the CSI handle of a disk whose project, and perhaps zone, nobody has stated."""
    return f"projects/UNSPECIFIED/zones/{zone or 'UNSPECIFIED'}/disks/{disk}"
