"""Claims, volumes and storage.k8s.io objects as the scheduler reads them. Sizes are in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.selectors import LabelSelector, NodeSelector, Requirement

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolumeClaim:
    """A `v1.PersistentVolumeClaim`."""

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    volume_name: str = ""
    """`spec.volumeName`: the volume that the claim is bound to or requests by name."""
    bind_completed: bool = False
    """Whether the volume controller has finished the binding."""
    selected_node: str | None = None
    """The node that the scheduler chose for provisioning; None if there is none."""
    class_name: str = ""
    """The storage class, read from the old annotation if that is set; empty if the claim has no class."""
    access_modes: frozenset[str] = frozenset()
    request_bytes: int | None = None
    volume_mode: str = "Filesystem"
    attributes_class: str = ""
    selector: LabelSelector | None = None
    phase: str = ""
    terminating: bool = False
    owner_uid: str = ""
    """Uid of the owner that controls the claim. For a claim of an ephemeral volume, the owner is the pod."""

    @property
    def key(self) -> str:
        """The `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_bound(self) -> bool:
        """Whether claim and volume are bound and the volume controller has confirmed the binding."""
        return self.bind_completed and bool(self.volume_name)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """The claim to which a volume is bound. If `uid` is empty, the volume is only reserved for the claim."""

    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolume:
    """A `v1.PersistentVolume`."""

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
    """The volume's CSI driver; for an in-tree volume, the driver that replaces its plugin."""
    csi_handle: str = ""
    in_tree: bool = False
    """Whether driver and handle are translated from an in-tree source. Such a volume counts towards the volume limits
    of its node only if the node has a CSINode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClass:
    """A `storage/v1.StorageClass`."""

    name: str
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()
    """Terms on node labels; a node must meet one of them. Without terms every node is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSINode:
    """A `storage/v1.CSINode`: the CSI drivers on a node and their limits."""

    name: str
    drivers: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    """Number of volumes that each driver can attach; a driver without an entry has no limit."""
    migrated_plugins: str = ""
    """The annotation that lists the in-tree plugins that CSI drivers replace on this node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSIDriver:
    """A `storage/v1.CSIDriver`."""

    name: str
    storage_capacity: bool = False
    """Whether the driver publishes CSIStorageCapacity objects that scheduling must respect."""
    prevent_pod_scheduling_if_missing: bool = False
    """Whether pods must not run on nodes without the driver (only with the feature gate VolumeLimitScaling)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CSIStorageCapacity:
    """A `storage/v1.CSIStorageCapacity`: how much storage a class can still provision for some nodes."""

    namespace: str
    name: str
    class_name: str
    capacity_bytes: int | None = None
    maximum_volume_size_bytes: int | None = None
    node_topology: LabelSelector | None = None
    """Selects the nodes that can reach the storage; None selects no node."""

    @property
    def limit_bytes(self) -> int | None:
        """The size of the largest volume that can be provisioned; None if the driver publishes no amount."""
        return self.capacity_bytes if self.maximum_volume_size_bytes is None else self.maximum_volume_size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAttachment:
    """A `storage/v1.VolumeAttachment`: a volume that is attached to a node or about to be."""

    name: str
    attacher: str = ""
    node_name: str = ""
    volume_name: str | None = None
