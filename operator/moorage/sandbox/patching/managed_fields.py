"""metadata.managedFields: who owns which fields, after updates and after applies."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, metadata
from moorage.sandbox.patching.fieldset import Path, from_fields_v1, leaves, lookup, owned_fields, to_fields_v1

APPLY, UPDATE = "Apply", "Update"


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry's identity: the same name may apply and update, the object and its status."""

    name: str
    operation: str
    subresource: str = ""
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and when (metav1.Time)."""

    manager: Manager
    time: str


Owners = dict[Manager, frozenset[Path]]


def owners_of(obj: Object) -> Owners:
    """Read managedFields."""
    entries = metadata(obj).get("managedFields") or []
    return {_manager(entry): frozenset(from_fields_v1(entry.get("fieldsV1") or {})) for entry in entries}


def _manager(entry: Mapping[str, str]) -> Manager:
    return Manager(
        entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", ""), entry.get("apiVersion", "")
    )


def record_update(new: Object, old: Object | None, schema: Schema | None, writer: Writer) -> None:
    """Give the writer of an update what it changed, take that from the others; in place.

    Clients may rewrite managedFields (kubectl does, when it moves an object to server-side apply); that counts.
    """
    owners = owners_of(new)
    after = owned_fields(new, schema, status=None)
    before = owned_fields(old, schema, status=None) if old else frozenset()
    changed = set(after - before)
    changed |= {path for path in leaves(after) & before if lookup(new, path, schema) != lookup(old, path, schema)}
    gone = before - after
    mine = ((owners.pop(writer.manager, frozenset()) | changed) - gone) if changed or gone else None
    others = {manager: paths - changed - gone for manager, paths in owners.items()}
    if mine is None:
        others = owners_of(new)
    else:
        others[writer.manager] = frozenset(mine)
    write_owners(new, others, old, writer)


def write_owners(obj: Object, owners: Owners, old: Object | None, writer: Writer) -> None:
    """Write managedFields; entries that stay as they were keep their time."""
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
