"""Server-side apply: merges an applied configuration into the live object, with field owners and conflicts.

1. Merge the applied configuration into the live object.
2. Remove the fields that this manager applied before but does not apply now, if no other manager owns them.

An apply conflicts if it would change a field that another manager owns. `force` takes the field from that manager.
Upstream: structured-merge-diff, merge/update.go.
"""

from collections import defaultdict
from http import HTTPStatus
from typing import Any

from moorage.sandbox.api_status import StatusError
from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, copy, metadata
from moorage.sandbox.patching.field_paths import ABSENT, Path, item_key, leaves, lookup, owned_fields
from moorage.sandbox.patching.managed_fields import UPDATE, FieldManager, FieldWriter, Owners, owners_of, write_owners

_BEFORE_FIRST_APPLY = "before-first-apply"


def server_side_apply(
    live: Object, applied: Object, schema: Schema | None, writer: FieldWriter, *, force: bool
) -> Object:
    """Return the object after an apply, with its managedFields. Raises a 409 that lists all conflicts.

    An apply to the status subresource uses only the applied status. Any other apply ignores the status.
    """
    status = writer.manager.subresource == "status"
    owners = owners_of(live)
    if live.get("metadata", {}).get("uid") and not owners:
        before = FieldManager(_BEFORE_FIRST_APPLY, UPDATE, "", writer.manager.api_version)
        owners[before] = owned_fields(live, schema, status=None)
    wanted = owned_fields(applied, schema, status=status)
    merged = _merge(live, _relevant_part(applied, status=status), schema)
    contested = _contested(live, merged, schema, wanted, _others(owners, writer.manager))
    if contested and not force:
        raise _conflicts(contested)
    previous = owners.pop(writer.manager, frozenset())
    owners = {manager: paths - contested.get(manager, frozenset()) for manager, paths in owners.items()}
    result: Object = _without(merged, _unowned(previous - wanted, owners), schema)
    owners[writer.manager] = wanted
    present = owned_fields(result, schema, status=None)
    owners = {manager: paths & present for manager, paths in owners.items()}
    write_owners(result, owners, live, writer)
    return result


def _relevant_part(applied: Object, *, status: bool) -> Object:
    if status:
        return {"status": applied.get("status") or {}}
    kept = {name: value for name, value in applied.items() if name not in {"status", "apiVersion", "kind"}}
    meta = metadata(applied)
    kept["metadata"] = {name: value for name, value in meta.items() if name not in {"managedFields", "resourceVersion"}}
    return kept


def _others(owners: Owners, manager: FieldManager) -> Owners:
    return {other: paths for other, paths in owners.items() if other != manager}


def _merge(live: Any, applied: Any, schema: Schema | None) -> Any:
    if isinstance(applied, dict) and isinstance(live, dict) and not (schema is not None and schema.is_atomic_map):
        result = dict(live)
        for name, value in applied.items():
            child = None if schema is None else schema.field(name)
            result[name] = _merge(live.get(name), value, child)
        return result
    if isinstance(applied, list) and isinstance(live, list) and schema is not None and schema.list_type != "atomic":
        return _merge_list(live, applied, schema)
    return copy(applied)


def _merge_list(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    wanted = {item_key(item, schema): item for item in applied}
    result = []
    for item in live:
        key = item_key(item, schema)
        result.append(_merge(item, wanted.pop(key), schema.items) if key in wanted else item)
    return result + [copy(item) for item in wanted.values()]


def _contested(
    live: Object, merged: Object, schema: Schema | None, wanted: frozenset[Path], others: Owners
) -> dict[FieldManager, frozenset[Path]]:
    ends = leaves(wanted)

    def changes(path: Path) -> bool:
        before, after = lookup(live, path, schema), lookup(merged, path, schema)
        return (before is ABSENT) != (after is ABSENT) or (path in ends and before != after)

    found = {manager: frozenset(filter(changes, paths & wanted)) for manager, paths in others.items()}
    return {manager: paths for manager, paths in found.items() if paths}


def _conflicts(contested: dict[FieldManager, frozenset[Path]]) -> StatusError:
    causes, texts = [], []
    for manager, paths in contested.items():
        names = sorted(_readable(path) for path in paths)
        who = f'conflict with "{manager.name}"'
        if manager.subresource:
            who += f' with subresource "{manager.subresource}"'
        if manager.operation == UPDATE:
            who += f" using {manager.api_version}"
        texts.append(f"{who}: {names[0]}" if len(names) == 1 else f"{who}:\n" + "\n".join(f"- {n}" for n in names))
        causes += [{"reason": "FieldManagerConflict", "message": who, "field": name} for name in names]
    plural = "conflict" if len(causes) == 1 else "conflicts"
    message = f"Apply failed with {len(causes)} {plural}: " + "\n".join(texts)
    return StatusError(HTTPStatus.CONFLICT, "Conflict", message, {"causes": causes})


def _readable(path: Path) -> str:
    return "".join(f".{element[2:]}" if element.startswith("f:") else f"[{_item_name(element)}]" for element in path)


def _item_name(element: str) -> str:
    if element.startswith("v:"):
        return f"={element[2:]}"
    inside = element[2:].strip("{}")
    return ",".join(part.replace('":', "=", 1).lstrip('"') for part in inside.split(","))


def _unowned(candidates: frozenset[Path], owners: Owners) -> set[Path]:
    """Return the candidates without an owner. An owner of a field below a candidate also owns the candidate."""
    kept: set[Path] = set()
    for paths in owners.values():
        for path in paths:
            kept.update(path[:length] for length in range(1, len(path) + 1))
    return {path for path in candidates if path not in kept}


def _without(value: Any, gone: set[Path], schema: Schema | None) -> Any:
    if not gone:
        return value
    by_element: dict[str, set[Path]] = defaultdict(set)
    for path in gone:
        by_element[path[0]].add(path[1:])
    if isinstance(value, dict):
        return _without_fields(value, by_element, schema)
    if isinstance(value, list) and schema is not None:
        kept = []
        for item in value:
            rest = by_element.get(item_key(item, schema), set())
            if () not in rest:
                kept.append(_without(item, rest, schema.items))
        return kept
    return value


def _without_fields(value: Object, gone: dict[str, set[Path]], schema: Schema | None) -> Object:
    result = {}
    for name, item in value.items():
        rest = gone.get(f"f:{name}")
        if rest is None:
            result[name] = item
        elif () not in rest:
            left = _without(item, rest, None if schema is None else schema.field(name))
            if left or left == item:
                result[name] = left
    return result
