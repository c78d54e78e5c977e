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


class ApiOwnerReference(Struct, frozen=True, rename="camel"):
    """`metav1.OwnerReference`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ApiMetadata(Struct, frozen=True, rename="camel"):
    """`metav1.ObjectMeta`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    owner_references: list[ApiOwnerReference] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class ApiContainer(Struct, frozen=True, rename="camel"):
    """`v1.Container`."""

    name: str = ""
    image: str = ""
    restart_policy: str | None = None
    resources: Raw = NULL
    ports: Raw = NULL
    restart_policy_rules: Raw = NULL


class ApiClaimVolume(Struct, frozen=True, rename="camel"):
    """`v1.PersistentVolumeClaimVolumeSource`."""

    claim_name: str = ""
    read_only: bool = False


class ApiEphemeralVolume(Struct, frozen=True):
    """`v1.EphemeralVolumeSource`: that it is there says all, its claim is made by a controller."""


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


class ApiNamed(Struct, frozen=True):
    """Anything of which only the name counts: a scheduling gate, a resource claim of the pod."""

    name: str = ""


class ApiPodSpec(Struct, frozen=True, rename="camel"):
    """`v1.PodSpec`."""

    containers: list[ApiContainer] | None = None
    init_containers: list[ApiContainer] | None = None
    volumes: list[ApiVolume] | None = None
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    scheduling_gates: list[ApiNamed] | None = None
    host_network: bool = False
    host_users: bool | None = None
    node_selector: Raw = NULL
    affinity: Raw = NULL
    tolerations: Raw = NULL
    topology_spread_constraints: Raw = NULL
    overhead: Raw = NULL
    resources: Raw = NULL
    resource_claims: Raw = NULL


class ApiContainerStatus(Struct, frozen=True, rename="camel"):
    """`v1.ContainerStatus`."""

    name: str = ""
    resources: Raw = NULL
    allocated_resources: Raw = NULL


class ApiCondition(Struct, frozen=True):
    """`v1.PodCondition`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ApiPodStatus(Struct, frozen=True, rename="camel"):
    """`v1.PodStatus`."""

    phase: str = ""
    start_time: datetime | None = None
    nominated_node_name: str = ""
    conditions: list[ApiCondition] | None = None
    container_statuses: list[ApiContainerStatus] | None = None
    init_container_statuses: list[ApiContainerStatus] | None = None
    resources: Raw = NULL
    allocated_resources: Raw = NULL


class ApiPod(Struct, frozen=True):
    """`v1.Pod`."""

    metadata: ApiMetadata
    spec: ApiPodSpec = ApiPodSpec()
    status: ApiPodStatus = ApiPodStatus()


class ApiResources(Struct, frozen=True):
    """`v1.ResourceRequirements`, of a container or of the pod as a whole."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class ApiPort(Struct, frozen=True, rename="camel"):
    """`v1.ContainerPort`."""

    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""


class ApiRestartRule(Struct, frozen=True):
    """`v1.ContainerRestartRule`."""

    action: str = ""


class ApiToleration(Struct, frozen=True):
    """`v1.Toleration`."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class ApiTaint(Struct, frozen=True):
    """`v1.Taint`."""

    key: str = ""
    effect: str = ""
    value: str = ""


class ApiNodeSpec(Struct, frozen=True):
    """`v1.NodeSpec`."""

    unschedulable: bool = False
    taints: list[ApiTaint] | None = None


class ApiContainerImage(Struct, frozen=True, rename="camel"):
    """`v1.ContainerImage`."""

    names: list[str] | None = None
    size_bytes: int = 0


class ApiNodeStatus(Struct, frozen=True, rename="camel"):
    """`v1.NodeStatus`."""

    allocatable: Amounts | None = None
    images: list[ApiContainerImage] | None = None
    declared_features: list[str] | None = None


class ApiNode(Struct, frozen=True):
    """`v1.Node`."""

    metadata: ApiMetadata
    spec: ApiNodeSpec = ApiNodeSpec()
    status: ApiNodeStatus = ApiNodeStatus()
