"""Object metadata as the API server sends it: only the fields that scheduling reads."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


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


class ApiStorageMetadata(Struct, frozen=True, rename="camel"):
    """`metav1.ObjectMeta` with annotations; scheduling reads the annotations of storage objects only."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[ApiOwnerReference] | None = None
    deletion_timestamp: datetime | None = None
