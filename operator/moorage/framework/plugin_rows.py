"""The plugins as `moorage plugins` lists them: extension points, weights, and the arguments that each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from moorage.framework import plugin_sets
from moorage.framework.defaults import DEFAULT_PLUGINS
from moorage.framework.extension_points import Plugin
from moorage.framework.registry import Registry


class PluginRow(NamedTuple):
    """A plugin, as `moorage plugins` lists it."""

    name: str
    extension_points: tuple[str, ...]
    weight: int
    """The default weight of its score; 0 for a plugin that has none."""
    default: bool
    """Whether it runs where nothing else is said."""
    description: str
    arguments: tuple[ArgumentRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the row with names as Kubernetes writes them."""
        return {
            "name": self.name,
            "extensionPoints": self.extension_points,
            "weight": self.weight,
            "default": self.default,
            "description": self.description,
            "arguments": [argument._asdict() for argument in self.arguments],
        }


class ArgumentRow(NamedTuple):
    """A field of a plugin's `args`."""

    name: str
    type: str
    """As in `list of string`; for an object, its fields follow: `{key: string, weight: integer}`."""
    default: Any
    """As it would be written; None for none."""


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
    """Say a JSON schema in a few words."""

    def within(inner: Mapping[str, Any]) -> str:
        return _type_of(inner, definitions)

    match node:
        case {"$ref": reference}:
            said = within(definitions[reference.rpartition("/")[2]])
        case {"anyOf": choices}:
            said = " or ".join(within(choice) for choice in choices if choice.get("type") != "null")
        case {"enum": values}:
            said = " | ".join(map(str, values))
        case {"type": "array", "items": items}:
            said = f"list of {within(items)}"
        case {"properties": fields}:
            said = f"{{{', '.join(f'{name}: {within(field)}' for name, field in fields.items())}}}"
        case {"additionalProperties": dict(values)}:
            said = f"map of {within(values)}"
        case _:
            said = str(node.get("const") or node.get("type") or "any")
    return said
