"""Volumes: what a pod mounts, and the storage objects that decide where it can.

`PodVolume` is part of a pod's shape; the others are digests of the objects of their kinds. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.selectors import LabelSelector, NodeSelector, Requirement

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


@dataclass(frozen=True, slots=True)
class PodVolume:
    """One entry of `spec.volumes` that scheduling cares for: a claim, an ephemeral claim, or a legacy disk."""

    name: str
    claim_name: str = ""
    """The claim that `persistentVolumeClaim` names; empty for an ephemeral volume, whose claim is named for the pod."""
    ephemeral: bool = False
    read_only: bool = False
    disk: tuple[str, ...] | None = None
    """Identity of a legacy disk, its kind first (`gce`, `aws`, `iscsi`, `rbd`); None for claims."""
    monitors: frozenset[str] = frozenset()
    """Ceph monitors of an `rbd` disk: one image under monitors that do not overlap is two disks."""

    @property
    def is_claim(self) -> bool:
        """Whether a PersistentVolumeClaim stands behind the volume."""
        return self.ephemeral or bool(self.claim_name)

    def claim_of(self, pod_name: str) -> str:
        """Return the claim's name for the pod of that name."""
        return f"{pod_name}-{self.name}" if self.ephemeral else self.claim_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolumeClaim:
    """A claim."""

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    volume_name: str = ""
    """The volume that it is bound to, or asks for by name."""
    bind_completed: bool = False
    """Whether the volume controller has finished the binding."""
    selected_node: str | None = None
    """The node that a scheduler chose for provisioning."""
    class_name: str = ""
    """The storage class, from the old annotation where that is set; empty where the claim wants none."""
    access_modes: frozenset[str] = frozenset()
    request_bytes: int | None = None
    volume_mode: str = "Filesystem"
    attributes_class: str = ""
    selector: LabelSelector | None = None
    phase: str = ""
    terminating: bool = False
    owner_uid: str = ""
    """Uid of the controlling owner: the pod, for an ephemeral volume's claim."""

    @property
    def key(self) -> str:
        """The `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_bound(self) -> bool:
        """Whether claim and volume are bound to each other for good."""
        return self.bind_completed and bool(self.volume_name)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """The claim that a volume is bound to, or kept for; `uid` is empty while it is only kept."""

    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolume:
    """A volume."""

    name: str
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity_bytes: int = 0
    class_name: str = ""
    access_modes: frozenset[str] = frozenset()
    volume_mode: str = "Filesystem"
    attributes_class: str = ""
    node_affinity: NodeSelector | None = None
    claim_ref: ClaimRef | None = None
    phase: str = ""
    terminating: bool = False
    csi_driver: str = ""
    """The CSI driver that serves it, also for in-tree volumes that have moved to one."""
    csi_handle: str = ""
    in_tree: bool = False
    """Whether driver and handle were translated from an in-tree source: that counts only on nodes with a CSINode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClass:
    """A storage class."""

    name: str
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()
    """Terms over node labels of which one must hold; none allow every node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSINode:
    """What the CSI drivers on a node can attach."""

    name: str
    drivers: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    """The most volumes by driver; a driver without an entry has no limit."""
    migrated_plugins: str = ""
    """The annotation that lists in-tree plugins whose volumes CSI drivers serve on this node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSIDriver:
    """A CSI driver."""

    name: str
    storage_capacity: bool = False
    """Whether it publishes CSIStorageCapacity objects that scheduling must heed."""
    prevent_pod_scheduling_if_missing: bool = False
    """Whether nodes without the driver are refused (heeded only with the feature gate VolumeLimitScaling)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSIStorageCapacity:
    """How much a storage class has left for the nodes of a topology."""

    namespace: str
    name: str
    class_name: str
    capacity_bytes: int | None = None
    maximum_volume_size_bytes: int | None = None
    node_topology: LabelSelector | None = None
    """The nodes that can reach it; None means none."""

    @property
    def limit_bytes(self) -> int | None:
        """The largest volume that can be made: the maximum size where stated, else what is left."""
        return self.capacity_bytes if self.maximum_volume_size_bytes is None else self.maximum_volume_size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAttachment:
    """A volume that is attached to a node, or about to be."""

    name: str
    attacher: str = ""
    node_name: str = ""
    volume_name: str | None = None
