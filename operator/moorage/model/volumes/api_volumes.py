"""Claims and volumes as the API server sends them: only the fields that scheduling reads."""

from __future__ import annotations

from msgspec import Struct, field

from moorage.model.api_metadata import ApiStorageMetadata
from moorage.model.api_selectors import ApiLabelSelector, ApiNodeSelector
from moorage.model.quantity import Amount


class ApiPhase(Struct, frozen=True):
    """`v1.PersistentVolumeClaimStatus` and `v1.PersistentVolumeStatus`."""

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
