"""Storage objects as they come off the wire: only the fields that scheduling reads."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from moorage.model.pods.api_constraints import ApiLabelSelector, ApiNodeSelector
from moorage.model.pods.api_pods import ApiOwnerReference
from moorage.model.quantity import Amount


class ApiStorageMetadata(Struct, frozen=True, rename="camel"):
    """`metav1.ObjectMeta`, annotations read: volumes tell much by them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[ApiOwnerReference] | None = None
    deletion_timestamp: datetime | None = None


class ApiPhase(Struct, frozen=True):
    """The status of a claim or a volume."""

    phase: str = ""


class ApiClaimResources(Struct, frozen=True):
    """`v1.VolumeResourceRequirements`."""

    requests: dict[str, Amount] | None = None


class ApiClaimSpec(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeClaimSpec`."""

    access_modes: list[str] | None = None
    selector: ApiLabelSelector | None = None
    resources: ApiClaimResources = ApiClaimResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ApiClaim(Struct, frozen=True):
    """`v1.PersistentVolumeClaim`."""

    metadata: ApiStorageMetadata
    spec: ApiClaimSpec = ApiClaimSpec()
    status: ApiPhase = ApiPhase()


class ApiObjectReference(Struct, frozen=True):
    """`v1.ObjectReference`."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class ApiVolumeAffinity(Struct, frozen=True):
    """`v1.VolumeNodeAffinity`."""

    required: ApiNodeSelector | None = None


class ApiCSISource(Struct, frozen=True, rename="camel"):
    """`v1.CSIPersistentVolumeSource`."""

    driver: str = ""
    volume_handle: str = ""


class ApiAWSSource(Struct, frozen=True):
    """`v1.AWSElasticBlockStoreVolumeSource`."""

    volume_id: str = field(default="", name="volumeID")


class ApiGCESource(Struct, frozen=True, rename="camel"):
    """`v1.GCEPersistentDiskVolumeSource`."""

    pd_name: str = ""


class ApiAzureSource(Struct, frozen=True):
    """`v1.AzureDiskVolumeSource`."""

    disk_uri: str = field(default="", name="diskURI")


class ApiVolumeSpec(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeSpec`."""

    capacity: dict[str, Amount] | None = None
    access_modes: list[str] | None = None
    claim_ref: ApiObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: ApiVolumeAffinity | None = None
    csi: ApiCSISource | None = None
    aws_elastic_block_store: ApiAWSSource | None = None
    gce_persistent_disk: ApiGCESource | None = None
    azure_disk: ApiAzureSource | None = None


class ApiPersistentVolume(Struct, frozen=True):
    """`v1.PersistentVolume`."""

    metadata: ApiStorageMetadata
    spec: ApiVolumeSpec = ApiVolumeSpec()
    status: ApiPhase = ApiPhase()


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
