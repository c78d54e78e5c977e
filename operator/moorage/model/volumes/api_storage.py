"""Objects of the API group storage.k8s.io as the API server sends them: only the fields that scheduling reads."""

from __future__ import annotations

from msgspec import Struct

from moorage.model.api_metadata import ApiStorageMetadata
from moorage.model.api_selectors import ApiLabelSelector
from moorage.model.quantity import Amount


class ApiTopologyRequirement(Struct, frozen=True):
    """`v1.TopologySelectorLabelRequirement`."""

    key: str = ""
    values: list[str] | None = None


class ApiTopologyTerm(Struct, frozen=True, rename="camel"):
    """`v1.TopologySelectorTerm`."""

    match_label_expressions: list[ApiTopologyRequirement] | None = None


class ApiStorageClass(Struct, frozen=True, rename="camel"):
    """`storage/v1.StorageClass`."""

    metadata: ApiStorageMetadata
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[ApiTopologyTerm] | None = None


class ApiAllocatable(Struct, frozen=True):
    """`storage/v1.VolumeNodeResources`."""

    count: int | None = None


class ApiDriver(Struct, frozen=True):
    """`storage/v1.CSINodeDriver`."""

    name: str = ""
    allocatable: ApiAllocatable | None = None


class ApiCSINodeSpec(Struct, frozen=True):
    """`storage/v1.CSINodeSpec`."""

    drivers: list[ApiDriver] | None = None


class ApiCSINode(Struct, frozen=True):
    """`storage/v1.CSINode`."""

    metadata: ApiStorageMetadata
    spec: ApiCSINodeSpec = ApiCSINodeSpec()


class ApiCSIDriverSpec(Struct, frozen=True, rename="camel"):
    """`storage/v1.CSIDriverSpec`."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class ApiCSIDriver(Struct, frozen=True):
    """`storage/v1.CSIDriver`."""

    metadata: ApiStorageMetadata
    spec: ApiCSIDriverSpec = ApiCSIDriverSpec()


class ApiCSIStorageCapacity(Struct, frozen=True, rename="camel"):
    """`storage/v1.CSIStorageCapacity`."""

    metadata: ApiStorageMetadata
    storage_class_name: str = ""
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None
    node_topology: ApiLabelSelector | None = None


class ApiAttachedSource(Struct, frozen=True, rename="camel"):
    """`storage/v1.VolumeAttachmentSource`."""

    persistent_volume_name: str | None = None


class ApiAttachmentSpec(Struct, frozen=True, rename="camel"):
    """`storage/v1.VolumeAttachmentSpec`."""

    attacher: str = ""
    node_name: str = ""
    source: ApiAttachedSource = ApiAttachedSource()


class ApiVolumeAttachment(Struct, frozen=True):
    """`storage/v1.VolumeAttachment`."""

    metadata: ApiStorageMetadata
    spec: ApiAttachmentSpec = ApiAttachmentSpec()
