"""Nodes as the API server sends them: only the fields that scheduling reads."""

from __future__ import annotations

from msgspec import Struct

from moorage.model.api_metadata import ApiMetadata
from moorage.model.quantity import Amounts


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
