"""Pods as the API server sends them: only the fields that scheduling reads.

Some fields stay raw JSON here, because they are decoded only once for all pods of a template. Lists and maps may be
None, because Go clients write `null` for an empty list or map. An absent raw field has the value NULL.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct, field

from moorage.model.api_metadata import ApiMetadata
from moorage.model.pods.api_pod_volumes import ApiVolume
from moorage.model.quantity import Amounts
from moorage.model.raw_fields import NULL


class ApiContainer(Struct, frozen=True, rename="camel"):
    """`v1.Container`."""

    name: str = ""
    image: str = ""
    restart_policy: str | None = None
    resources: Raw = NULL
    ports: Raw = NULL
    restart_policy_rules: Raw = NULL


class ApiNamed(Struct, frozen=True):
    """`v1.PodSchedulingGate` or `v1.PodResourceClaim`; scheduling reads only the name."""

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
