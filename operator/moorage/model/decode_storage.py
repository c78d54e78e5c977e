"""Storage objects: from JSON to the digested structs of `moorage.model.volumes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Raw, Struct, field, json

from moorage.model.decode_selectors import label_selector, node_selector
from moorage.model.quantity import Amount, value
from moorage.model.selectors import Requirement
from moorage.model.volumes import (
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.model.wire import Amounts, MetadataWire, NamedWire, ResourcesWire
from moorage.model.wire_constraints import LabelSelectorWire, NodeSelectorWire

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_CLASS = "volume.beta.kubernetes.io/storage-class"
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_STORAGE = "storage"


class _PhaseWire(Struct, frozen=True):
    phase: str = ""


class _ClaimSpecWire(Struct, frozen=True, rename="camel"):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    resources: ResourcesWire | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    selector: LabelSelectorWire | None = None


class _ClaimWire(Struct, frozen=True):
    metadata: MetadataWire
    spec: _ClaimSpecWire = _ClaimSpecWire()
    status: _PhaseWire = _PhaseWire()


class _ClaimRefWire(Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _VolumeAffinityWire(Struct, frozen=True):
    required: NodeSelectorWire | None = None


class _CSISourceWire(Struct, frozen=True, rename="camel"):
    driver: str = ""
    volume_handle: str = ""


class _VolumeSpecWire(Struct, frozen=True, rename="camel"):
    capacity: Amounts | None = None
    storage_class_name: str = ""
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: _VolumeAffinityWire | None = None
    claim_ref: _ClaimRefWire | None = None
    csi: _CSISourceWire | None = None


class _VolumeWire(Struct, frozen=True):
    metadata: MetadataWire
    spec: _VolumeSpecWire = _VolumeSpecWire()
    status: _PhaseWire = _PhaseWire()


class _TopologyExpressionWire(Struct, frozen=True):
    key: str = ""
    values: list[str] | None = None


class _TopologyTermWire(Struct, frozen=True, rename="camel"):
    match_label_expressions: list[_TopologyExpressionWire] | None = None


class _ClassWire(Struct, frozen=True, rename="camel"):
    metadata: MetadataWire
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[_TopologyTermWire] | None = None


class _CountWire(Struct, frozen=True):
    count: int | None = None


class _NodeDriverWire(Struct, frozen=True):
    name: str = ""
    allocatable: _CountWire | None = None


class _CSINodeSpecWire(Struct, frozen=True):
    drivers: list[_NodeDriverWire] | None = None


class _CSINodeWire(Struct, frozen=True):
    metadata: MetadataWire
    spec: _CSINodeSpecWire = _CSINodeSpecWire()


class _CSIDriverSpecWire(Struct, frozen=True, rename="camel"):
    storage_capacity: bool | None = None


class _CSIDriverWire(Struct, frozen=True):
    metadata: MetadataWire
    spec: _CSIDriverSpecWire = _CSIDriverSpecWire()


class _CapacityWire(Struct, frozen=True, rename="camel"):
    metadata: MetadataWire
    storage_class_name: str = ""
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None
    node_topology: LabelSelectorWire | None = None


class _AttachmentSourceWire(Struct, frozen=True, rename="camel"):
    persistent_volume_name: str | None = None


class _AttachmentSpecWire(Struct, frozen=True, rename="camel"):
    attacher: str = ""
    node_name: str = ""
    source: _AttachmentSourceWire = _AttachmentSourceWire()


class _AttachmentWire(Struct, frozen=True):
    metadata: MetadataWire
    spec: _AttachmentSpecWire = _AttachmentSpecWire()


def persistent_volume_claim(raw: bytes) -> PersistentVolumeClaim:
    """Digest a claim; the old class annotation wins over the field, as in kube-scheduler."""
    wire = json.decode(raw, type=_ClaimWire)
    metadata, spec = wire.metadata, wire.spec
    annotations = _annotations(metadata)
    requests = spec.resources.requests if spec.resources else None
    return PersistentVolumeClaim(
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        volume_name=spec.volume_name,
        bind_completed=_BIND_COMPLETED in annotations,
        selected_node=annotations.get(_SELECTED_NODE),
        class_name=annotations.get(_CLASS, spec.storage_class_name or ""),
        access_modes=frozenset(spec.access_modes or ()),
        request_bytes=value(requests[_STORAGE]) if requests and _STORAGE in requests else None,
        volume_mode=spec.volume_mode or "Filesystem",
        attributes_class=spec.volume_attributes_class_name or "",
        selector=label_selector(spec.selector),
        phase=wire.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        owner_uid=next((each.uid for each in metadata.owner_references or () if each.controller), ""),
    )


def persistent_volume(raw: bytes) -> PersistentVolume:
    """Digest a volume."""
    wire = json.decode(raw, type=_VolumeWire)
    metadata, spec = wire.metadata, wire.spec
    affinity = spec.node_affinity.required if spec.node_affinity else None
    claim = spec.claim_ref
    csi = spec.csi or _CSISourceWire()
    return PersistentVolume(
        name=metadata.name,
        resource_version=metadata.resource_version,
        labels=metadata.labels or {},
        capacity_bytes=value((spec.capacity or {}).get(_STORAGE, 0)),
        class_name=_annotations(metadata).get(_CLASS, spec.storage_class_name),
        access_modes=frozenset(spec.access_modes or ()),
        volume_mode=spec.volume_mode or "Filesystem",
        attributes_class=spec.volume_attributes_class_name or "",
        node_affinity=None if affinity is None else node_selector(affinity),
        claim_ref=None if claim is None else ClaimRef(claim.namespace, claim.name, claim.uid),
        phase=wire.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        csi_driver=csi.driver,
        csi_handle=csi.volume_handle,
    )


def storage_class(raw: bytes) -> StorageClass:
    """Digest a storage class."""
    wire = json.decode(raw, type=_ClassWire)
    return StorageClass(
        name=wire.metadata.name,
        provisioner=wire.provisioner,
        volume_binding_mode=wire.volume_binding_mode,
        allowed_topologies=tuple(
            tuple(
                Requirement(each.key, "In", frozenset(each.values or ())) for each in term.match_label_expressions or ()
            )
            for term in wire.allowed_topologies or ()
        ),
    )


def csi_node(raw: bytes) -> CSINode:
    """Digest a CSINode."""
    wire = json.decode(raw, type=_CSINodeWire)
    return CSINode(
        name=wire.metadata.name,
        limits={
            driver.name: driver.allocatable.count
            for driver in wire.spec.drivers or ()
            if driver.allocatable is not None and driver.allocatable.count is not None
        },
        migrated_plugins=_annotations(wire.metadata).get(_MIGRATED_PLUGINS, ""),
    )


def csi_driver(raw: bytes) -> CSIDriver:
    """Digest a CSIDriver."""
    wire = json.decode(raw, type=_CSIDriverWire)
    return CSIDriver(name=wire.metadata.name, storage_capacity=bool(wire.spec.storage_capacity))


def csi_storage_capacity(raw: bytes) -> CSIStorageCapacity:
    """Digest a CSIStorageCapacity."""
    wire = json.decode(raw, type=_CapacityWire)
    return CSIStorageCapacity(
        namespace=wire.metadata.namespace or "default",
        name=wire.metadata.name,
        class_name=wire.storage_class_name,
        capacity_bytes=None if wire.capacity is None else value(wire.capacity),
        maximum_volume_size_bytes=None if wire.maximum_volume_size is None else value(wire.maximum_volume_size),
        node_topology=label_selector(wire.node_topology),
    )


def volume_attachment(raw: bytes) -> VolumeAttachment:
    """Digest a VolumeAttachment."""
    wire = json.decode(raw, type=_AttachmentWire)
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


def _annotations(metadata: MetadataWire) -> Mapping[str, str]:
    return json.decode(metadata.annotations, type=dict[str, str] | None) or {}
