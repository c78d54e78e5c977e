"""From the models to a structural schema: OpenAPI v3 as a CustomResourceDefinition wants it.

pydantic's JSON Schema holds `$ref`, `anyOf`, `title` and `const`, all of which an API server refuses.
What cannot be said in a structural schema raises TypeError, when the CRD is made and not when it is applied.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]
"""A JSON Schema or a part of one."""

_DROPPED = frozenset({"$defs", "additionalProperties", "description", "title"})
_KEPT = frozenset(
    {
        "default",
        "enum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "pattern",
        "required",
        "type",
    }
)


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the model's schema with every reference inlined and every part in a form that an API server takes."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _Walker(raw.get("$defs", {})).walk(raw)


class _Walker:
    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def walk(self, raw: Schema) -> Schema:
        node = self._without_null(self._inlined(raw))
        schema: Schema = {}
        if "description" in node:
            schema["description"] = " ".join(node["description"].split())
        for keyword, value in node.items():
            schema |= self._keyword(keyword, value)
        self._settle_integer(schema)
        self._settle_default(schema)
        if not {"type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"} & schema.keys():
            raise TypeError(f"a structural schema needs a type: {raw}")
        return schema

    def _inlined(self, raw: Schema) -> Schema:
        """Replace a reference by what it stands for; what stands beside the reference wins."""
        if "$ref" not in raw:
            return raw
        beside = {keyword: value for keyword, value in raw.items() if keyword != "$ref"}
        return {**self._inlined(self._definitions[raw["$ref"].removeprefix("#/$defs/")]), **beside}

    def _without_null(self, node: Schema) -> Schema:
        """Turn `X | None` into X: the models drop a null, as an API server does where a field is not nullable."""
        if "anyOf" not in node:
            return node
        options = [option for option in node["anyOf"] if option.get("type") != "null"]
        if len(options) != 1:
            raise TypeError(f"a structural schema has no unions: {node}")
        rest = {keyword: value for keyword, value in node.items() if keyword != "anyOf"}
        if rest.get("default", ...) is None:
            del rest["default"]
        return {**self._inlined(options[0]), **rest}

    def _keyword(self, keyword: str, value: Any) -> Schema:
        if keyword in _KEPT or keyword.startswith("x-kubernetes-"):
            return {keyword: value}
        match keyword:
            case "properties":
                return {keyword: {name: self.walk(child) for name, child in value.items()}}
            case "items":
                return {keyword: self.walk(value)}
            case "additionalProperties" if not isinstance(value, bool):
                return {keyword: self.walk(value)}
            case "const":
                return {"enum": [value]}
            case _ if keyword in _DROPPED:
                return {}
        raise TypeError(f"{keyword} has no place in a structural schema")

    @staticmethod
    def _settle_integer(schema: Schema) -> None:
        if schema.get("type") == "integer":
            schema.setdefault("format", "int64")

    @staticmethod
    def _settle_default(schema: Schema) -> None:
        """Keep defaults that say something: `{}` where fields below have some, nothing where they have none."""
        if schema.get("type") == "object" and "default" in schema and "properties" in schema:
            if any("default" in child for child in schema["properties"].values()):
                schema["default"] = {}
            else:
                del schema["default"]
        elif schema.get("default") == []:
            del schema["default"]
