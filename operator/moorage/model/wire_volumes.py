"""Storage objects as they come off the wire: only the fields that scheduling reads."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from moorage.model.quantity import Amount
from moorage.model.wire import OwnerReferenceWire
from moorage.model.wire_constraints import LabelSelectorWire, NodeSelectorWire


class StorageMetadataWire(Struct, frozen=True, rename="camel"):
    """`metav1.ObjectMeta`, annotations read: volumes tell much by them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReferenceWire] | None = None
    deletion_timestamp: datetime | None = None


class PhaseWire(Struct, frozen=True):
    """The status of a claim or a volume."""

    phase: str = ""


class ClaimResourcesWire(Struct, frozen=True):
    """`v1.VolumeResourceRequirements`."""

    requests: dict[str, Amount] | None = None


class ClaimSpecWire(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeClaimSpec`."""

    access_modes: list[str] | None = None
    selector: LabelSelectorWire | None = None
    resources: ClaimResourcesWire = ClaimResourcesWire()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimWire(Struct, frozen=True):
    """`v1.PersistentVolumeClaim`."""

    metadata: StorageMetadataWire
    spec: ClaimSpecWire = ClaimSpecWire()
    status: PhaseWire = PhaseWire()


class ObjectReferenceWire(Struct, frozen=True):
    """`v1.ObjectReference`."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeAffinityWire(Struct, frozen=True):
    """`v1.VolumeNodeAffinity`."""

    required: NodeSelectorWire | None = None


class CSISourceWire(Struct, frozen=True, rename="camel"):
    """`v1.CSIPersistentVolumeSource`."""

    driver: str = ""
    volume_handle: str = ""


class AWSSourceWire(Struct, frozen=True):
    """`v1.AWSElasticBlockStoreVolumeSource`."""

    volume_id: str = field(default="", name="volumeID")


class GCESourceWire(Struct, frozen=True, rename="camel"):
    """`v1.GCEPersistentDiskVolumeSource`."""

    pd_name: str = ""


class AzureSourceWire(Struct, frozen=True):
    """`v1.AzureDiskVolumeSource`."""

    disk_uri: str = field(default="", name="diskURI")


class VolumeSpecWire(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeSpec`."""

    capacity: dict[str, Amount] | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReferenceWire | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeAffinityWire | None = None
    csi: CSISourceWire | None = None
    aws_elastic_block_store: AWSSourceWire | None = None
    gce_persistent_disk: GCESourceWire | None = None
    azure_disk: AzureSourceWire | None = None


class PersistentVolumeWire(Struct, frozen=True):
    """`v1.PersistentVolume`."""

    metadata: StorageMetadataWire
    spec: VolumeSpecWire = VolumeSpecWire()
    status: PhaseWire = PhaseWire()


class TopologyRequirementWire(Struct, frozen=True):
    """`v1.TopologySelectorLabelRequirement`."""

    key: str = ""
    values: list[str] | None = None


class TopologyTermWire(Struct, frozen=True, rename="camel"):
    """`v1.TopologySelectorTerm`."""

    match_label_expressions: list[TopologyRequirementWire] | None = None


class StorageClassWire(Struct, frozen=True, rename="camel"):
    """`storage/v1.StorageClass`."""

    metadata: StorageMetadataWire
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTermWire] | None = None


class AllocatableWire(Struct, frozen=True):
    """`storage/v1.VolumeNodeResources`."""

    count: int | None = None


class DriverWire(Struct, frozen=True):
    """`storage/v1.CSINodeDriver`."""

    name: str = ""
    allocatable: AllocatableWire | None = None


class CSINodeSpecWire(Struct, frozen=True):
    """`storage/v1.CSINodeSpec`."""

    drivers: list[DriverWire] | None = None


class CSINodeWire(Struct, frozen=True):
    """`storage/v1.CSINode`."""

    metadata: StorageMetadataWire
    spec: CSINodeSpecWire = CSINodeSpecWire()


class CSIDriverSpecWire(Struct, frozen=True, rename="camel"):
    """`storage/v1.CSIDriverSpec`."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriverWire(Struct, frozen=True):
    """`storage/v1.CSIDriver`."""

    metadata: StorageMetadataWire
    spec: CSIDriverSpecWire = CSIDriverSpecWire()


class CSIStorageCapacityWire(Struct, frozen=True, rename="camel"):
    """`storage/v1.CSIStorageCapacity`."""

    metadata: StorageMetadataWire
    storage_class_name: str = ""
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None
    node_topology: LabelSelectorWire | None = None


class AttachedSourceWire(Struct, frozen=True, rename="camel"):
    """`storage/v1.VolumeAttachmentSource`."""

    persistent_volume_name: str | None = None


class AttachmentSpecWire(Struct, frozen=True, rename="camel"):
    """`storage/v1.VolumeAttachmentSpec`."""

    attacher: str = ""
    node_name: str = ""
    source: AttachedSourceWire = AttachedSourceWire()


class VolumeAttachmentWire(Struct, frozen=True):
    """`storage/v1.VolumeAttachment`."""

    metadata: StorageMetadataWire
    spec: AttachmentSpecWire = AttachmentSpecWire()
