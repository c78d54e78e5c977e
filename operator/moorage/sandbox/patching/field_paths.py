"""Sets of field paths, and their conversion to metav1.FieldsV1. A path names a part that a manager can own.

A path is a tuple of FieldsV1 keys: `f:name` is a field, `k:{"name":"a"}` is the list item with that key, and `v:"x"` is
an item of a set. Upstream: structured-merge-diff, fieldpath/.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, decode, encode

Path: TypeAlias = tuple[str, ...]
ABSENT = object()

_SYSTEM_METADATA = frozenset(
    {
        "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields",
        "deletionTimestamp", "deletionGracePeriodSeconds", "generateName",
    }
)  # fmt: skip


def owned_fields(obj: Object, schema: Schema | None, *, status: bool | None) -> frozenset[Path]:
    """Return the paths of all fields of an object that a manager can own.

    If `status` is True, return only the fields of the status. If it is False, return all other fields. If it is None,
    return all fields.
    """
    paths: set[Path] = set()
    for name, value in obj.items():
        if name in {"apiVersion", "kind"} or (status is not None and (name == "status") is not status):
            continue
        kept = value
        if name == "metadata":
            kept = {field: item for field, item in value.items() if field not in _SYSTEM_METADATA}
            if not kept:
                continue
        child = None if schema is None else schema.field(name)
        paths.update(_fields((f"f:{name}",), kept, child))
    return frozenset(paths)


def item_key(item: Any, schema: Schema) -> str:
    """Return the path element for an item of a list of type set or map. Absent keys get their defaults."""
    if schema.list_type == "set" or not isinstance(item, dict):
        return f"v:{encode(item).decode()}"
    identity = {}
    for key in sorted(schema.list_keys):
        child = schema.items.field(key) if schema.items is not None else None
        value = item.get(key, child.node.get("default") if child is not None else None)
        if value is not None:
            identity[key] = value
    return f"k:{encode(identity).decode()}"


def lookup(value: Any, path: Path, schema: Schema | None) -> Any:
    """Return the value at a path, or ABSENT."""
    for element in path:
        if element.startswith("f:"):
            name = element[2:]
            if not isinstance(value, dict) or name not in value:
                return ABSENT
            value, schema = value[name], None if schema is None else schema.field(name)
        else:
            if not isinstance(value, list) or schema is None:
                return ABSENT
            items = schema.items
            value = next((item for item in value if item_key(item, schema) == element), ABSENT)
            if value is ABSENT:
                return ABSENT
            schema = items
    return value


def leaves(paths: Iterable[Path]) -> frozenset[Path]:
    """Return the paths that are not a prefix of another path."""
    found = frozenset(paths)
    return found - _parents(found)


def to_fields_v1(paths: Iterable[Path]) -> Object:
    """Return the FieldsV1 tree of paths, as managedFields holds it."""
    found = frozenset(paths)
    parents = _parents(found)
    root: Object = {}
    for path in sorted(found):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        if path in parents:
            node["."] = {}
    return root


def from_fields_v1(node: Object, prefix: Path = ()) -> Iterator[Path]:
    """Yield the paths of a FieldsV1 tree."""
    if not node and prefix:
        yield prefix
    for element, child in node.items():
        if element == ".":
            yield prefix
        else:
            yield from from_fields_v1(child, (*prefix, _canonical(element)))


def _fields(path: Path, value: Any, schema: Schema | None) -> Iterator[Path]:
    if isinstance(value, dict) and value and not (schema is not None and schema.is_atomic_map):
        for name, item in value.items():
            child_path = (*path, f"f:{name}")
            if schema is None or name not in schema.properties:
                yield child_path
            yield from _fields(child_path, item, None if schema is None else schema.field(name))
    elif isinstance(value, list) and schema is not None and schema.list_type != "atomic":
        for item in value:
            child_path = (*path, item_key(item, schema))
            yield child_path
            if schema.list_type == "map":
                yield from _fields(child_path, item, schema.items)
    else:
        yield path


def _parents(paths: frozenset[Path]) -> set[Path]:
    return {path[:length] for path in paths for length in range(1, len(path))}


def _canonical(element: str) -> str:
    """Return a path element with sorted keys, as `item_key` writes them. Clients may use another order."""
    if element[:2] not in {"k:", "v:"}:
        return element
    value = decode(element[2:].encode())
    if isinstance(value, dict):
        value = dict(sorted(value.items()))
    return f"{element[:2]}{encode(value).decode()}"
