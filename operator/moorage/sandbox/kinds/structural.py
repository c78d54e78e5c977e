"""Defaulting and pruning by schema. The API server does both before it validates an object."""

from typing import Any, TypeAlias

from moorage.sandbox.kinds.schemas import Schema
from moorage.sandbox.objects import Object, copy

_Path: TypeAlias = "tuple[_Path, str] | None"
"""A path as a linked list: the path of the parent, and the last step. It becomes text only for an unknown field."""


def apply_defaults(value: Any, schema: Schema) -> None:
    """Set absent fields to the schema's defaults at every level, in place."""
    if isinstance(value, dict):
        _default_fields(value, schema)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            apply_defaults(item, schema.items)


def prune(value: Any, schema: Schema, unknown: list[str]) -> Any:
    """Return the value without the fields that the schema does not name. Appends their paths to `unknown`."""
    return _prune(value, schema, unknown, None)


def _default_fields(value: Object, schema: Schema) -> None:
    for name in [name for name, item in value.items() if item is None]:
        child = schema.field(name)
        if child is not None and not child.node.get("nullable"):
            del value[name]  # null in a field that is not nullable means absent
    for name, node in schema.properties.items():
        if "default" not in node:
            continue
        if name not in value:
            value[name] = copy(node["default"])
    for name, item in value.items():
        child = schema.field(name)
        if child is not None and isinstance(item, dict | list):
            apply_defaults(item, child)


def _prune(value: Any, schema: Schema, unknown: list[str], path: _Path) -> Any:
    if type(value) is dict:
        return _prune_fields(value, schema, unknown, path)
    if type(value) is list and schema.items is not None:
        items = schema.items
        return [_prune(item, items, unknown, (path, f"[{index}]")) for index, item in enumerate(value)]
    return value


def _prune_fields(value: Object, schema: Schema, unknown: list[str], path: _Path) -> Object:
    if schema.types and "object" not in schema.types:
        return value
    kept: Object = {}
    for name, item in value.items():
        child = schema.field(name)
        if child is not None:
            kept[name] = _prune(item, child, unknown, (path, f".{name}"))
        elif schema.keeps_unknown:
            kept[name] = item
        else:
            unknown.append(_path_text((path, f".{name}")))
    return kept


def _path_text(path: _Path) -> str:
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(reversed(steps)).lstrip(".")
