"""The rows of `moorage plugins`: each plugin with its extension points, weight and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from moorage.framework import plugin_sets
from moorage.framework.defaults import DEFAULT_PLUGINS
from moorage.framework.extension_points import Plugin
from moorage.framework.registry import Registry


class PluginRow(NamedTuple):
    """One plugin in the list."""

    name: str
    extension_points: tuple[str, ...]
    weight: int
    """The default weight of the plugin's score; 0 if the plugin has no Score."""
    default: bool
    """Whether the plugin runs in a default profile."""
    description: str
    arguments: tuple[ArgumentRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the row with its keys in camelCase, as in Kubernetes objects."""
        return {
            "name": self.name,
            "extensionPoints": self.extension_points,
            "weight": self.weight,
            "default": self.default,
            "description": self.description,
            "arguments": [argument._asdict() for argument in self.arguments],
        }


class ArgumentRow(NamedTuple):
    """One field of a plugin's `args`."""

    name: str
    type: str
    """The type for users, such as `list of string`, or `{key: string, weight: integer}` for an object."""
    default: Any
    """The default value as JSON; None if there is none."""


def list_plugins(registry: Registry) -> list[PluginRow]:
    """Return a row for each plugin, sorted by name."""
    rows = []
    for name, found in sorted(registry.classes.items()):
        points = tuple(point for point in plugin_sets.POINT_CLASSES if plugin_sets.implements(found, point))
        weight = (DEFAULT_PLUGINS.get(name) or found.default_weight) if "score" in points else 0
        description = (found.__doc__ or "").strip().partition("\n")[0]
        rows.append(PluginRow(name, points, weight, name in DEFAULT_PLUGINS, description, tuple(_arguments(found))))
    return rows


def _arguments(plugin: type[Plugin]) -> Iterator[ArgumentRow]:
    schema = plugin.model_json_schema()
    for name, node in schema.get("properties", {}).items():
        yield ArgumentRow(name, _type_of(node, schema.get("$defs", {})), node.get("default"))


def _type_of(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return a short description of a JSON schema's type."""

    def within(inner: Mapping[str, Any]) -> str:
        return _type_of(inner, definitions)

    match node:
        case {"$ref": reference}:
            described = within(definitions[reference.rpartition("/")[2]])
        case {"anyOf": choices}:
            described = " or ".join(within(choice) for choice in choices if choice.get("type") != "null")
        case {"enum": values}:
            described = " | ".join(map(str, values))
        case {"type": "array", "items": items}:
            described = f"list of {within(items)}"
        case {"properties": fields}:
            described = f"{{{', '.join(f'{name}: {within(field)}' for name, field in fields.items())}}}"
        case {"additionalProperties": dict(values)}:
            described = f"map of {within(values)}"
        case _:
            described = str(node.get("const") or node.get("type") or "any")
    return described
