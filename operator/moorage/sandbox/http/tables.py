"""meta.k8s.io/v1 Tables, which `kubectl get` prints."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from moorage.sandbox.http import jsonpath, table_rows
from moorage.sandbox.kinds.conversion import from_stored
from moorage.sandbox.kinds.resource_types import ResourceType
from moorage.sandbox.objects import Object, metadata
from moorage.sandbox.storage.store import Record

Row: TypeAlias = Callable[[Object, datetime], list[Any]]
META_API_VERSION = "meta.k8s.io/v1"
_AGE = ("Age", "string", 0)
_NAME = ("Name", "string", 0)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a kind: their names, types and priorities, and the function that returns an object's cells."""

    definitions: tuple[tuple[str, str, int], ...]
    row: Row


def _columns(names: str, row: Row) -> TableColumns:
    """Return the columns that a text such as `Name #Count +Wide` describes.

    An underscore means a space in a name. `+` marks a column that only `-o wide` prints, and `#` an integer column.
    """
    definitions = []
    for word in names.split():
        priority, kind = int(word.startswith("+")), "integer" if "#" in word else "string"
        definitions.append((word.strip("+#").replace("_", " "), kind, priority))
    return TableColumns(tuple(definitions), row)


_BUILTIN = {
    "Pod": _columns("Name Ready Status Restarts Age +IP +Node +Nominated_Node +Readiness_Gates", table_rows.pod),
    "Node": _columns(
        "Name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version +Container-Runtime",
        table_rows.node,
    ),
    "Event": _columns(
        "Last_Seen Type Reason Object +Subobject +Source Message +First_Seen +Count +Name", table_rows.event
    ),
    "Lease": _columns("Name Holder Age", table_rows.lease),
    "Namespace": _columns("Name Status Age", table_rows.namespace),
    "PodDisruptionBudget": _columns("Name Min_Available Max_Unavailable #Allowed_Disruptions Age", table_rows.budget),
    "PriorityClass": _columns("Name #Value Global-Default Age PreemptionPolicy", table_rows.priority_class),
    "CustomResourceDefinition": _columns("Name Created_At", table_rows.definition),
    "ReplicaSet": _columns("Name #Desired #Current #Ready Age", table_rows.replica_set),
    "Deployment": _columns("Name Ready #Up-to-date #Available Age", table_rows.deployment),
    "PersistentVolumeClaim": _columns(
        "Name Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age", table_rows.claim
    ),
    "StorageClass": _columns(
        "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age", table_rows.storage_class
    ),
}


class Tables:
    """The builder of Tables for all kinds."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Use the clock `now` for ages."""
        self._now = now

    def table(self, resource: ResourceType, records: Iterable[Record], meta: Object, include: str) -> Object:
        """Return a Table. `include` says which part of each object it contains: Metadata, Object or None."""
        columns = _columns_of(resource)
        now = self._now()
        rows = [
            {"cells": columns.row(record.obj, now), "object": _row_object(resource, record, include)}
            for record in records
        ]
        definitions = [
            {
                "name": name, "type": kind, "format": "name" if name == "Name" else "", "description": "",
                "priority": priority,
            }
            for name, kind, priority in columns.definitions
        ]  # fmt: skip
        return {
            "kind": "Table", "apiVersion": META_API_VERSION, "metadata": meta,
            "columnDefinitions": definitions, "rows": rows,
        }  # fmt: skip


def partial_metadata(obj: Object) -> Object:
    """Return a PartialObjectMetadata, which has only the object's metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META_API_VERSION, "metadata": metadata(obj)}


def _row_object(resource: ResourceType, record: Record, include: str) -> Object | None:
    if include == "None":
        return None
    return from_stored(resource, record.obj) if include == "Object" else partial_metadata(record.obj)


def _columns_of(resource: ResourceType) -> TableColumns:
    if resource.custom is not None:
        return _custom_columns(resource.custom.printer_columns)
    return _BUILTIN.get(resource.kind) or TableColumns((_NAME, _AGE), table_rows.generic)


def _custom_columns(printer_columns: tuple[Any, ...]) -> TableColumns:
    if not printer_columns:
        return TableColumns((_NAME, _AGE), table_rows.generic)
    definitions = tuple((column["name"], column["type"], column.get("priority", 0)) for column in printer_columns)

    def row(obj: Object, now: datetime) -> list[Any]:
        return [obj["metadata"]["name"], *(_custom_cell(obj, column, now) for column in printer_columns)]

    return TableColumns((_NAME, *definitions), row)


def _custom_cell(obj: Object, column: Object, now: datetime) -> Any:
    found = jsonpath.evaluate(obj, column["jsonPath"])
    if not found or found[0] is None:
        return "<unknown>" if column["type"] == "date" else None
    value = found[0]
    if column["type"] == "date":
        return table_rows.age(value, now)
    if column["type"] == "string":
        return value if isinstance(value, str) else table_rows.compact(value)
    return value
