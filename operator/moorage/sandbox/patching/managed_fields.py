"""metadata.managedFields: the fields that each manager owns, and the effect of updates on the owners."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, metadata
from moorage.sandbox.patching.field_paths import Path, from_fields_v1, leaves, lookup, owned_fields, to_fields_v1

APPLY, UPDATE = "Apply", "Update"


@dataclass(frozen=True, slots=True)
class FieldManager:
    """The identity of one entry. A name can have one entry for apply, one for update, and one for the status."""

    name: str
    operation: str
    subresource: str = ""
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class FieldWriter:
    """The manager that writes, and the time of the write (metav1.Time)."""

    manager: FieldManager
    time: str


Owners = dict[FieldManager, frozenset[Path]]


def owners_of(obj: Object) -> Owners:
    """Return the managers in managedFields, each with its fields."""
    entries = metadata(obj).get("managedFields") or []
    return {_manager(entry): frozenset(from_fields_v1(entry.get("fieldsV1") or {})) for entry in entries}


def record_update(new: Object, old: Object | None, schema: Schema | None, writer: FieldWriter) -> None:
    """Change the managedFields of `new` in place.

    The writer becomes the only owner of the fields that the update changed. Starts from the managedFields of `new`,
    because clients may change them, as kubectl does when it migrates an object to server-side apply.
    """
    owners = owners_of(new)
    after = owned_fields(new, schema, status=None)
    before = owned_fields(old, schema, status=None) if old else frozenset()
    changed = set(after - before)
    changed |= {path for path in leaves(after) & before if lookup(new, path, schema) != lookup(old, path, schema)}
    removed = before - after
    if changed or removed:
        own = (owners.pop(writer.manager, frozenset()) | changed) - removed
        owners = {manager: paths - changed - removed for manager, paths in owners.items()}
        owners[writer.manager] = own
    write_owners(new, owners, old, writer)


def write_owners(obj: Object, owners: Owners, old: Object | None, writer: FieldWriter) -> None:
    """Set managedFields, in place. Unchanged entries keep their time."""
    before = owners_of(old or {})
    times = {_manager(entry): entry.get("time") for entry in metadata(old or {}).get("managedFields") or []}
    entries = []
    for manager, paths in owners.items():
        if not paths:
            continue
        unchanged = before.get(manager) == paths
        entry: Object = {
            "manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version,
            "time": times.get(manager) if unchanged else writer.time, "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(paths),
        }  # fmt: skip
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _manager(entry: Mapping[str, str]) -> FieldManager:
    return FieldManager(
        entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", ""), entry.get("apiVersion", "")
    )
