"""Hints for unknown fields: the parent of a field with the wrong indentation, or the nearest known name."""

from collections import defaultdict
from difflib import get_close_matches

from pydantic import BaseModel

from moorage.api.schema import Schema, structural_schema
from moorage.errors import Location

HOMES_SHOWN = 2
"""The maximum number of parents in a hint. If a field name has more parents, the hint names none of them."""


class FieldHints:
    """The hints for one model. They suggest fields of the model and of all models below it."""

    def __init__(self, model: type[BaseModel]) -> None:
        """Collect the fields of the model's schema."""
        self._schema = structural_schema(model)
        self._homes: dict[str, set[str]] = defaultdict(set)
        self._collect(self._schema, "")

    def for_error(self, location: Location, kind: str) -> str:
        """Return the text to append to the message about an unknown field; empty if there is no hint."""
        name = location[-1] if location else None
        if kind != "extra_forbidden" or not isinstance(name, str):
            return ""
        homes = self._homes.get(name, set())
        if 0 < len(homes) <= HOMES_SHOWN:
            return f" here; it belongs under {' or '.join(sorted(homes))}: check the indentation"
        near = get_close_matches(name, self._siblings(location), n=1)
        return f"; did you mean {near[0]}?" if near else ""

    def _collect(self, schema: Schema, path: str) -> None:
        for name, child in schema.get("properties", {}).items():
            self._homes[name].add(path or "the root")
            self._collect(child, f"{path}.{name}".removeprefix("."))
        if "items" in schema:
            self._collect(schema["items"], f"{path}[]")

    def _siblings(self, location: Location) -> list[str]:
        schema = self._schema
        for step in location[:-1]:
            schema = schema.get("items", {}) if isinstance(step, int) else schema.get("properties", {}).get(step, {})
        return list(schema.get("properties", {}))
