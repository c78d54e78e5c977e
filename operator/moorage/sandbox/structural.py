"""What the API server does to an object before it looks at the rules: defaults in, unknown fields out."""

from typing import Any

from moorage.sandbox.objects import Object, copy
from moorage.sandbox.schemas import Schema


def apply_defaults(value: Any, schema: Schema) -> None:
    """Fill absent fields with their schema's defaults, in place, level by level."""
    if isinstance(value, dict):
        _default_fields(value, schema)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            apply_defaults(item, schema.items)


def _default_fields(value: Object, schema: Schema) -> None:
    for name in [name for name, item in value.items() if item is None]:
        child = schema.field(name)
        if child is not None and not child.node.get("nullable"):
            del value[name]  # a null that cannot be stands for absence
    for name, node in schema.properties.items():
        if "default" not in node:
            continue
        if name not in value:
            value[name] = copy(node["default"])
    for name, item in value.items():
        child = schema.field(name)
        if child is not None and isinstance(item, dict | list):
            apply_defaults(item, child)


def prune(value: Any, schema: Schema, unknown: list[str], path: str = "") -> Any:
    """Build the value without the fields its schema does not know; their paths go to `unknown`."""
    if isinstance(value, dict):
        return _prune_fields(value, schema, unknown, path)
    if isinstance(value, list) and schema.items is not None:
        return [prune(item, schema.items, unknown, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


def _prune_fields(value: Object, schema: Schema, unknown: list[str], path: str) -> Object:
    kept: Object = {}
    free = schema.keeps_unknown or not (schema.properties or "additionalProperties" in schema.node)
    if schema.types and "object" not in schema.types:
        return value
    for name, item in value.items():
        child = schema.field(name)
        where = f"{path}.{name}" if path else name
        if child is not None:
            kept[name] = prune(item, child, unknown, where)
        elif free and (schema.keeps_unknown or not schema.types):
            kept[name] = item
        else:
            unknown.append(where)
    return kept
