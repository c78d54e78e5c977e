"""Entries of `spec.volumes` as the API server sends them: only the sources that scheduling reads."""

from __future__ import annotations

from msgspec import Struct, field


class ApiClaimVolume(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeClaimVolumeSource`."""

    claim_name: str = ""
    read_only: bool = False


class ApiEphemeralVolume(Struct, frozen=True):
    """`v1.EphemeralVolumeSource`, without its fields.

    A controller creates a claim from the fields, and scheduling reads that claim. The claim's name is made from the
    names of the pod and the volume.
    """


class ApiImageVolume(Struct, frozen=True):
    """`v1.ImageVolumeSource`."""

    reference: str = ""


class ApiGCEDisk(Struct, frozen=True, rename="camel"):
    """`v1.GCEPersistentDiskVolumeSource`."""

    pd_name: str = ""
    read_only: bool = False


class ApiAWSDisk(Struct, frozen=True, rename="camel"):
    """`v1.AWSElasticBlockStoreVolumeSource`."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class ApiISCSI(Struct, frozen=True, rename="camel"):
    """`v1.ISCSIVolumeSource`."""

    iqn: str = ""
    read_only: bool = False


class ApiRBD(Struct, frozen=True, rename="camel"):
    """`v1.RBDVolumeSource`."""

    image: str = ""
    pool: str = "rbd"
    monitors: list[str] | None = None
    read_only: bool = False


class ApiVolume(Struct, frozen=True, rename="camel"):
    """`v1.Volume`."""

    name: str = ""
    persistent_volume_claim: ApiClaimVolume | None = None
    ephemeral: ApiEphemeralVolume | None = None
    image: ApiImageVolume | None = None
    gce_persistent_disk: ApiGCEDisk | None = None
    aws_elastic_block_store: ApiAWSDisk | None = None
    iscsi: ApiISCSI | None = None
    rbd: ApiRBD | None = None
