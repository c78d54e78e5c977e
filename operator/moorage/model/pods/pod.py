"""Pods as the scheduler reads them.

A pod has a shape, which it shares with the other pods of its template, and fields of its own. The shape holds nearly
all fields that Filter and Score plugins read. The decoder makes only one object of equal shapes, so a result that
depends on the shape is computed once for a template. A shape lives as long as a pod refers to it.

`Pod` is a msgspec struct because informers create thousands of pods a second, and creating a frozen dataclass takes
eight times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from moorage.model.pods.affinity import NO_POD_AFFINITY, NodeAffinityTerms, PodAffinity, TopologySpreadConstraint
from moorage.model.pods.pod_volume import PodVolume
from moorage.model.resources import NO_RESOURCES, Resources


@dataclass(frozen=True, slots=True)
class Toleration:
    """A `v1.Toleration`; an empty key or effect matches all, an empty operator means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port that the pod needs on its node, with the API's defaults: `0.0.0.0` for the ip, `TCP` for the protocol."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """The owner reference of the pod's controller."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, kw_only=True)
class PodShape:
    """The fields that all pods of one template share.

    Shapes are compared by identity, because the decoder makes one object of equal shapes.
    """

    namespace: str
    labels: Mapping[str, str]
    owner: OwnerReference | None = None
    """The owner reference of the pod's controller; None if the pod has no controller."""
    requests: Resources = NO_RESOURCES
    """Effective requests from the spec (upstream `PodRequests`). Filter compares them with the free amounts of
    nodes."""
    score_requests: Resources = NO_RESOURCES
    """Requests for scoring the pod that is being scheduled: with defaults for containers, without pod-level
    resources."""
    non_zero_requests: Resources = NO_RESOURCES
    """Requests for scoring a node on which the pod already is: with defaults for containers and pod-level resources."""
    node_selector: Mapping[str, str] | None = None
    node_affinity: NodeAffinityTerms | None = None
    pod_affinity: PodAffinity = NO_POD_AFFINITY
    spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    """Images of init containers, containers and image volumes. Each name has a tag or digest. May contain
    duplicates."""
    container_count: int = 0
    """Number of the pod's init containers and containers."""
    volumes: tuple[PodVolume, ...] = ()
    """Claims, ephemeral claims and in-tree disks; scheduling reads no other volumes."""
    resource_claims: tuple[str, ...] = ()
    """Names of `spec.resourceClaims`."""
    required_features: frozenset[str] = frozenset()
    """Node features that the spec needs (`status.declaredFeatures` of a node)."""
    limits: Resources = NO_RESOURCES
    """The sums of the containers' limits, for metrics only."""
    limit_names: frozenset[str] = frozenset()
    """Resources that a container requests or limits; extenders compare them with their managedResources."""
    is_too_large: bool = False
    """Whether the pod's spec is too large (`moorage.model.pods.large_shape`). If so, most fields above are empty."""


class Pod(Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """A pod at one resourceVersion."""

    uid: str
    name: str
    shape: PodShape
    resource_version: str = ""
    generation: int = 0
    """`metadata.generation`, which grows with each change of the spec; 0 before Kubernetes 1.33."""
    node_name: str = ""
    """The node that the pod is bound to or assumed on; empty while the pod waits."""
    nominated_node_name: str = ""
    scheduler_name: str = "default-scheduler"
    """`spec.schedulerName` or, in the engine, the schedulerName of the canary that takes the pod."""
    canary_of: str = ""
    """`spec.schedulerName` if a canary takes the pod; otherwise empty."""
    phase: str = ""
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    creation_timestamp: float = 0.0
    """`metadata.creationTimestamp` in seconds since the epoch."""
    start_time: float | None = None
    """`status.startTime` in seconds since the epoch."""
    terminating: bool = False
    """Whether `metadata.deletionTimestamp` is set."""
    scheduling_gates: tuple[str, ...] = ()
    required_node_name: str = ""
    """`spec.nodeName` of the object. Only replays of kube-scheduler's test cases schedule pods in which it is set."""
    requests: Resources = NO_RESOURCES
    """Requests that the pod uses on its node. They equal the shape's requests except during an in-place resize."""
    non_zero_requests: Resources = NO_RESOURCES
    """The requests that the pod uses on its node when the node is scored, with defaults for containers."""
    disruption_target: str = ""
    """Reason of the DisruptionTarget condition if its status is True; otherwise empty."""
    scheduled_condition: tuple[str, str, str] | None = None
    """Status, reason and message of the PodScheduled condition."""
    raw: bytes = b""
    """The JSON of the object while extenders are called for the pod. Otherwise empty, because the JSON may be large."""

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.shape.namespace

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels."""
        return self.shape.labels

    @property
    def key(self) -> str:
        """The `namespace/name`, for messages and logs."""
        return f"{self.shape.namespace}/{self.name}"

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has ended (Succeeded or Failed) and so uses no resources."""
        return self.phase in {"Succeeded", "Failed"}


def differs_beyond_status(old: Pod, new: Pod) -> bool:
    """Return whether two versions of a pod without a node differ in more than the status.

    Upstream: `pkg/scheduler/backend/queue/scheduling_queue.go`, isPodUpdated.
    """
    return old.shape != new.shape or old.scheduling_gates != new.scheduling_gates or old.terminating != new.terminating
