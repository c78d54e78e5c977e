"""Node groups, which describe simulated nodes: their YAML file, and their Node objects."""

import ipaddress
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from moorage.model.quantity import milli_value, value
from moorage.sandbox.kinds.schemas import SERVED_VERSION
from moorage.sandbox.multiline_error import MultilineError
from moorage.sandbox.objects import Object

DEFAULT_NODES = Path(__file__).with_name("default_nodes.yaml")
"""The built-in cluster's node groups."""

EXAMPLE = """\
nodeGroups:
  - name: spot
    count: 6
    instanceType: m5.xlarge
    cpu: "4"
    memory: 16Gi
"""
"""A minimal file of node groups, for error messages."""

ZONE_LABEL, REGION_LABEL = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
LIFECYCLE_LABEL = "eks.amazonaws.com/capacityType"
_MIB = 1024**2
_NODE_NETWORK_MASK = 2**23 - 1  # 10.0.0.0/9
_CAPACITY_TYPES = {"on-demand": "ON_DEMAND", "spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}
_CORE_RESERVES = (60, 10, 5, 5)  # milli-CPU that EKS reserves on each of the first four cores
_FURTHER_CORE_RESERVE = 2.5  # milli-CPU on each further core
_BASE_RESERVE_MIB, _POD_RESERVE_MIB, _EVICTION_RESERVE_MIB = 255, 11, 100


def _quantity(text: str) -> str:
    """Return the text of a quantity. Raises ValueError for other texts."""
    value(text)
    return text


Quantity = Annotated[str, AfterValidator(_quantity)]


class NodeGroupsError(MultilineError):
    """An error in a file of node groups. The message names the file and the field."""


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        coerce_numbers_to_str=True,  # users write `cpu: 4`
    )


class GroupGpus(_Model):
    """The GPUs of each node of a group. `resource` is the extended resource that counts them."""

    resource: str = "nvidia.com/gpu"
    count: int = Field(ge=1)
    product: str = ""


class GroupImage(_Model):
    """A container image that is present on the group's nodes."""

    name: str
    size_bytes: int = Field(ge=0)


class GroupTaint(_Model):
    """A taint of each node of a group."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodeGroup(_Model):
    """Nodes that differ only in name and zone.

    `cpu` and `memory` include the parts that are reserved for the system.
    """

    name: str
    count: int = Field(ge=0)
    instance_type: str
    zones: tuple[str, ...] = ("us-east-1a", "us-east-1b", "us-east-1c")
    lifecycle: Literal["on-demand", "spot", "capacity-block"] | None = "on-demand"
    cpu: Quantity
    memory: Quantity
    pods: int = Field(default=110, ge=0)
    gpus: GroupGpus | None = None
    labels: dict[str, str] = {}
    taints: tuple[GroupTaint, ...] = ()
    images: tuple[GroupImage, ...] = ()
    allocatable: dict[str, Quantity] = {}
    """Amounts that pods can request. A resource that the fields above do not describe is added. Another amount of cpu,
    memory or GPUs replaces the computed amount."""

    def nodes(self) -> Iterator[Object]:
        """Yield the group's Node objects. Each node is in the next zone."""
        for index in range(self.count):
            yield self._node(f"{self.name}-{index}", self.zones[index % len(self.zones)] if self.zones else "")

    def _node(self, name: str, zone: str) -> Object:
        spec: Object = {"providerID": f"sandbox:///{zone}/{name}"}
        if self.taints:
            spec["taints"] = [taint.model_dump(exclude_defaults=True) for taint in self.taints]
        return {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": self._labels(name, zone)},
            "spec": spec, "status": self._status(name),
        }  # fmt: skip

    def _labels(self, name: str, zone: str) -> dict[str, str]:
        labels = {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            INSTANCE_TYPE_LABEL: self.instance_type, "eks.amazonaws.com/nodegroup": self.name,
        }  # fmt: skip
        if zone:
            labels |= {ZONE_LABEL: zone, REGION_LABEL: zone[:-1]}
        if self.lifecycle:
            labels[LIFECYCLE_LABEL] = _CAPACITY_TYPES[self.lifecycle]
        if self.gpus:
            prefix = self.gpus.resource
            labels |= {f"{prefix}.count": str(self.gpus.count), f"{prefix}.present": "true"}
            if self.gpus.product:
                labels[f"{prefix}.product"] = self.gpus.product
        return labels | self.labels

    def _status(self, name: str) -> Object:
        extended = {self.gpus.resource: str(self.gpus.count)} if self.gpus else {}
        common = {"pods": str(self.pods), "ephemeral-storage": "80Gi"} | extended
        return {
            "capacity": {"cpu": self.cpu, "memory": self.memory} | common,
            "allocatable": {"cpu": f"{self._free_milli_cpu()}m", "memory": f"{self._free_mib()}Mi"}
            | common
            | self.allocatable,
            "addresses": [{"type": "InternalIP", "address": _address(name)}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": f"{SERVED_VERSION}-sandbox", "osImage": "moorage sandbox", "architecture": "amd64",
                "operatingSystem": "linux", "kernelVersion": "simulated", "containerRuntimeVersion": "simulated://1",
                "bootID": "", "kubeProxyVersion": "", "machineID": "", "systemUUID": "",
            },
            "images": [{"names": [image.name], "sizeBytes": image.size_bytes} for image in self.images],
        }  # fmt: skip

    def _free_milli_cpu(self) -> int:
        total = milli_value(self.cpu)
        cores = total // 1000
        reserved = sum(_CORE_RESERVES[:cores]) + max(cores - len(_CORE_RESERVES), 0) * _FURTHER_CORE_RESERVE
        return int(total - reserved)

    def _free_mib(self) -> int:
        reserved = _BASE_RESERVE_MIB + _POD_RESERVE_MIB * self.pods + _EVICTION_RESERVE_MIB
        return max(value(self.memory) // _MIB - reserved, 0)


class _NodeGroupsFile(_Model):
    node_groups: tuple[NodeGroup, ...]


def load_node_groups(path_or_text: str | Path | None = None) -> list[NodeGroup]:
    """Return the node groups of a file, or of a YAML text with more than one line. None means the default cluster.

    Raises NodeGroupsError for invalid content, OSError for an unreadable file.
    """
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return _parse(path_or_text, "the node groups")
    path = DEFAULT_NODES if path_or_text is None else Path(path_or_text)
    return _parse(path.read_text(encoding="utf-8"), str(path))


def ready_conditions(now: str) -> list[Object]:
    """Return the conditions that the kubelet of a healthy node reports at the time `now` (metav1.Time)."""
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    pressures = [
        {"type": f"{kind}Pressure", "status": "False", "reason": f"KubeletHasSufficient{kind}", **times}
        for kind in ("Memory", "Disk", "PID")
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated", **times}
    return [*pressures, ready]


def _parse(text: str, source: str) -> list[NodeGroup]:
    expected = f"a file of node groups looks like this:\n\n{EXAMPLE}"
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NodeGroupsError(f"{source}: invalid YAML: {error}") from error
    if not isinstance(content, dict):
        raise NodeGroupsError(f"{source}: the key `nodeGroups` is missing; {expected}")
    try:
        return list(_NodeGroupsFile.model_validate(content).node_groups)
    except ValidationError as error:
        faults = "".join(f"\n  {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise NodeGroupsError(f"{source}:{faults}\n{expected}") from error


def _address(name: str) -> str:
    """Return an IP address that depends only on the name. It is outside the pods' network."""
    number = zlib.crc32(name.encode()) & _NODE_NETWORK_MASK
    return str(ipaddress.ip_address("10.0.0.0") + number)
