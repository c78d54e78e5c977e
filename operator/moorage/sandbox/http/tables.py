"""meta.k8s.io/v1 Tables: what `kubectl get` prints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from moorage.sandbox.http import jsonpath, rows
from moorage.sandbox.http.forms import from_stored
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.objects import Object, metadata
from moorage.sandbox.storage.store import Record

Row: TypeAlias = Callable[[Object, datetime], list[Any]]
_META_API = "meta.k8s.io/v1"
_AGE = ("Age", "string", 0)
_NAME = ("Name", "string", 0)


@dataclass(frozen=True, slots=True)
class Columns:
    """Names, types and priorities of a kind's columns, and how an object fills them."""

    definitions: tuple[tuple[str, str, int], ...]
    row: Row


def _columns(names: str, row: Row) -> Columns:
    """Columns from `Name Age +Wide`; underscores are spaces, a plus means `-o wide`, a hash a number."""
    definitions = []
    for word in names.split():
        priority, kind = int(word.startswith("+")), "integer" if "#" in word else "string"
        definitions.append((word.strip("+#").replace("_", " "), kind, priority))
    return Columns(tuple(definitions), row)


_BUILTIN = {
    "Pod": _columns("Name Ready Status Restarts Age +IP +Node +Nominated_Node +Readiness_Gates", rows.pod),
    "Node": _columns(
        "Name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version +Container-Runtime",
        rows.node,
    ),
    "Event": _columns("Last_Seen Type Reason Object +Subobject +Source Message +First_Seen +Count +Name", rows.event),
    "Lease": _columns("Name Holder Age", rows.lease),
    "Namespace": _columns("Name Status Age", rows.namespace),
    "PodDisruptionBudget": _columns("Name Min_Available Max_Unavailable #Allowed_Disruptions Age", rows.budget),
    "PriorityClass": _columns("Name #Value Global-Default Age PreemptionPolicy", rows.priority_class),
    "CustomResourceDefinition": _columns("Name Created_At", rows.definition),
    "ReplicaSet": _columns("Name #Desired #Current #Ready Age", rows.replica_set),
    "Deployment": _columns("Name Ready #Up-to-date #Available Age", rows.deployment),
    "PersistentVolumeClaim": _columns(
        "Name Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age", rows.claim
    ),
    "StorageClass": _columns(
        "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age", rows.storage_class
    ),
}


class Tables:
    """Prints objects of any kind as tables; `now` gives ages."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Print with a clock."""
        self._now = now

    def table(self, resource: ResourceType, records: Iterable[Record], meta: Object, include: str) -> Object:
        """Make a Table. `include` is Metadata, Object or None: how much of each object a row carries."""
        columns = _columns_of(resource)
        now = self._now()
        rows = [
            {"cells": columns.row(record.obj, now), "object": _carried(resource, record, include)} for record in records
        ]
        definitions = [
            {
                "name": name, "type": kind, "format": "name" if name == "Name" else "", "description": "",
                "priority": priority,
            }
            for name, kind, priority in columns.definitions
        ]  # fmt: skip
        return {
            "kind": "Table", "apiVersion": _META_API, "metadata": meta, "columnDefinitions": definitions, "rows": rows,
        }  # fmt: skip


def partial_metadata(obj: Object) -> Object:
    """Keep only an object's metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": _META_API, "metadata": metadata(obj)}


def _carried(resource: ResourceType, record: Record, include: str) -> Object | None:
    if include == "None":
        return None
    return from_stored(resource, record.obj) if include == "Object" else partial_metadata(record.obj)


def _columns_of(resource: ResourceType) -> Columns:
    if resource.custom is not None:
        return _custom_columns(resource.custom.printer_columns)
    return _BUILTIN.get(resource.kind) or Columns((_NAME, _AGE), rows.generic)


def _custom_columns(printer_columns: tuple[Any, ...]) -> Columns:
    if not printer_columns:
        return Columns((_NAME, _AGE), rows.generic)
    definitions = tuple((column["name"], column["type"], column.get("priority", 0)) for column in printer_columns)

    def row(obj: Object, now: datetime) -> list[Any]:
        return [obj["metadata"]["name"], *(_custom_cell(obj, column, now) for column in printer_columns)]

    return Columns((_NAME, *definitions), row)


def _custom_cell(obj: Object, column: Object, now: datetime) -> Any:
    found = jsonpath.evaluate(obj, column["jsonPath"])
    if not found or found[0] is None:
        return "<unknown>" if column["type"] == "date" else None
    value = found[0]
    if column["type"] == "date":
        return rows.age(value, now)
    if column["type"] == "string":
        return value if isinstance(value, str) else rows.compact(value)
    return value
