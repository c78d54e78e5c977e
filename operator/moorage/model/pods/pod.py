"""The pod as the scheduler sees it: what is its own, and the shape that it shares with its template's other pods.

Pods of one template are alike in all that filters and scores read. That part is the shape; equal shapes are one object
(see `moorage.model.decode`), so whatever is computed for a shape is computed once a template. A shape lives as long as
some pod has it.

Pods are made by the thousands a second, so they are msgspec structs: to make a frozen dataclass takes eight times as
long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from moorage.model.pods.affinity import NO_POD_AFFINITY, NodeAffinityTerms, PodAffinity, TopologySpreadConstraint
from moorage.model.resources import NO_RESOURCES, Resources
from moorage.model.volumes.storage_objects import PodVolume


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration; empty key, operator, value and effect keep the API's meaning of the empty string."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port wanted on the node, normalised: ip `0.0.0.0` and protocol `TCP` where the pod says nothing."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """The controller that owns the pod."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, kw_only=True)
class PodShape:
    """All that pods of one template share. Compared and hashed by identity: equal shapes are interned to one object."""

    namespace: str
    labels: Mapping[str, str]
    owner: OwnerReference | None = None
    """The controlling owner reference."""
    requests: Resources = NO_RESOURCES
    """Effective requests from the spec (semantics of `PodRequests`): what Filter asks of a node."""
    score_requests: Resources = NO_RESOURCES
    """The incoming pod's requests for scoring: container defaults filled in, pod-level resources ignored."""
    non_zero_requests: Resources = NO_RESOURCES
    """Requests of a placed pod with container defaults filled in (pod-level resources count)."""
    node_selector: Mapping[str, str] | None = None
    node_affinity: NodeAffinityTerms | None = None
    pod_affinity: PodAffinity = NO_POD_AFFINITY
    spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    """Images of init containers, containers and image volumes, with a tag or digest each, repeats included."""
    container_count: int = 0
    """Init containers and containers."""
    volumes: tuple[PodVolume, ...] = ()
    """Volumes that scheduling cares for: claims, ephemeral claims, and the legacy disks."""
    resource_claims: tuple[str, ...] = ()
    """Names of `spec.resourceClaims`."""
    required_features: frozenset[str] = frozenset()
    """Node features that the spec needs (NodeDeclaredFeatures)."""
    limit_names: frozenset[str] = frozenset()
    """Resources that some container requests or limits (extenders' managedResources)."""


class Pod(Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """A pod at one resourceVersion."""

    uid: str
    name: str
    shape: PodShape
    resource_version: str = ""
    generation: int = 0
    """Grows with every change of the spec; 0 where the API server does not track it (before 1.33)."""
    node_name: str = ""
    """The node that the pod is bound to; empty while it waits."""
    nominated_node_name: str = ""
    scheduler_name: str = "default-scheduler"
    phase: str = ""
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    creation_timestamp: float = 0.0
    """Seconds since the epoch."""
    start_time: float | None = None
    """`status.startTime`, in seconds since the epoch."""
    terminating: bool = False
    """Whether deletionTimestamp is set."""
    scheduling_gates: tuple[str, ...] = ()
    required_node_name: str = ""
    """`spec.nodeName` as NodeName reads it; only parity cases have it on a pod that waits."""
    requests: Resources = NO_RESOURCES
    """What the pod takes on its node: the shape's requests, or more while it is resized in place."""
    non_zero_requests: Resources = NO_RESOURCES
    """The same with container defaults filled in."""
    disruption_target: str = ""
    """Reason of a true DisruptionTarget condition."""
    scheduled_condition: tuple[str, str, str] | None = None
    """Status, reason and message of the PodScheduled condition."""
    raw: bytes = b""
    """The object as it was received; kept only while the pod waits, for extenders."""

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
        """The `namespace/name` that messages and logs use."""
        return f"{self.shape.namespace}/{self.name}"

    @property
    def is_terminal(self) -> bool:
        """Whether it has run to its end, and so takes nothing."""
        return self.phase in {"Succeeded", "Failed"}
