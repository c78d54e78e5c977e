"""Pods and nodes as they come off the wire: only the fields that scheduling reads, everything else is skipped.

Parts that are digested once a template stay raw bytes here. A Go client writes `null` for a nil slice or map, so every
one of them may be None; a raw part that is absent is the same as one that is `null`.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct, field

from moorage.model.quantity import Amount
from moorage.model.raw import NULL

Amounts = dict[str, Amount]


class OwnerReferenceWire(Struct, frozen=True, rename="camel"):
    """`metav1.OwnerReference`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class MetadataWire(Struct, frozen=True, rename="camel"):
    """`metav1.ObjectMeta`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    owner_references: list[OwnerReferenceWire] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class ContainerWire(Struct, frozen=True, rename="camel"):
    """`v1.Container`."""

    name: str = ""
    image: str = ""
    restart_policy: str | None = None
    resources: Raw = NULL
    ports: Raw = NULL
    restart_policy_rules: Raw = NULL


class ClaimVolumeWire(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeClaimVolumeSource`."""

    claim_name: str = ""
    read_only: bool = False


class EphemeralVolumeWire(Struct, frozen=True):
    """`v1.EphemeralVolumeSource`: that it is there says all, its claim is made by a controller."""


class ImageVolumeWire(Struct, frozen=True):
    """`v1.ImageVolumeSource`."""

    reference: str = ""


class GCEDiskWire(Struct, frozen=True, rename="camel"):
    """`v1.GCEPersistentDiskVolumeSource`."""

    pd_name: str = ""
    read_only: bool = False


class AWSDiskWire(Struct, frozen=True, rename="camel"):
    """`v1.AWSElasticBlockStoreVolumeSource`."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class ISCSIWire(Struct, frozen=True, rename="camel"):
    """`v1.ISCSIVolumeSource`."""

    iqn: str = ""
    read_only: bool = False


class RBDWire(Struct, frozen=True, rename="camel"):
    """`v1.RBDVolumeSource`."""

    image: str = ""
    pool: str = "rbd"
    monitors: list[str] | None = None
    read_only: bool = False


class VolumeWire(Struct, frozen=True, rename="camel"):
    """`v1.Volume`."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeWire | None = None
    ephemeral: EphemeralVolumeWire | None = None
    image: ImageVolumeWire | None = None
    gce_persistent_disk: GCEDiskWire | None = None
    aws_elastic_block_store: AWSDiskWire | None = None
    iscsi: ISCSIWire | None = None
    rbd: RBDWire | None = None


class NamedWire(Struct, frozen=True):
    """Anything of which only the name counts: a scheduling gate, a resource claim of the pod."""

    name: str = ""


class PodSpecWire(Struct, frozen=True, rename="camel"):
    """`v1.PodSpec`."""

    containers: list[ContainerWire] | None = None
    init_containers: list[ContainerWire] | None = None
    volumes: list[VolumeWire] | None = None
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    scheduling_gates: list[NamedWire] | None = None
    host_network: bool = False
    host_users: bool | None = None
    node_selector: Raw = NULL
    affinity: Raw = NULL
    tolerations: Raw = NULL
    topology_spread_constraints: Raw = NULL
    overhead: Raw = NULL
    resources: Raw = NULL
    resource_claims: Raw = NULL


class ContainerStatusWire(Struct, frozen=True, rename="camel"):
    """`v1.ContainerStatus`."""

    name: str = ""
    resources: Raw = NULL
    allocated_resources: Raw = NULL


class ConditionWire(Struct, frozen=True):
    """`v1.PodCondition`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatusWire(Struct, frozen=True, rename="camel"):
    """`v1.PodStatus`."""

    phase: str = ""
    start_time: datetime | None = None
    nominated_node_name: str = ""
    conditions: list[ConditionWire] | None = None
    container_statuses: list[ContainerStatusWire] | None = None
    init_container_statuses: list[ContainerStatusWire] | None = None
    resources: Raw = NULL
    allocated_resources: Raw = NULL


class PodWire(Struct, frozen=True):
    """`v1.Pod`."""

    metadata: MetadataWire
    spec: PodSpecWire = PodSpecWire()
    status: PodStatusWire = PodStatusWire()


class ResourcesWire(Struct, frozen=True):
    """`v1.ResourceRequirements`, of a container or of the pod as a whole."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class PortWire(Struct, frozen=True, rename="camel"):
    """`v1.ContainerPort`."""

    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""


class RestartRuleWire(Struct, frozen=True):
    """`v1.ContainerRestartRule`."""

    action: str = ""


class TolerationWire(Struct, frozen=True):
    """`v1.Toleration`."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TaintWire(Struct, frozen=True):
    """`v1.Taint`."""

    key: str = ""
    effect: str = ""
    value: str = ""


class NodeSpecWire(Struct, frozen=True):
    """`v1.NodeSpec`."""

    unschedulable: bool = False
    taints: list[TaintWire] | None = None


class ContainerImageWire(Struct, frozen=True, rename="camel"):
    """`v1.ContainerImage`."""

    names: list[str] | None = None
    size_bytes: int = 0


class NodeStatusWire(Struct, frozen=True, rename="camel"):
    """`v1.NodeStatus`."""

    allocatable: Amounts | None = None
    images: list[ContainerImageWire] | None = None
    declared_features: list[str] | None = None


class NodeWire(Struct, frozen=True):
    """`v1.Node`."""

    metadata: MetadataWire
    spec: NodeSpecWire = NodeSpecWire()
    status: NodeStatusWire = NodeStatusWire()
