"""Converts models to a structural schema: the subset of OpenAPI v3 that a CustomResourceDefinition accepts.

pydantic's JSON Schema has `$ref`, `anyOf`, `title` and `const`, which an API server refuses. If a model has no
structural schema, the generation of the CRD raises TypeError, before a user can apply the CRD.

Fields of list elements get no defaults here, only in the models. The API server would write the defaults into the
lists, and tools that compare whole lists, such as Argo CD, would always report the object as changed.

The descriptions are the texts of `kubectl explain`, which does not show defaults. So the default value of a field is
appended to its description.
"""

import json
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
    """Return the schema of a model, without references and in the form that an API server accepts."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _Walker(raw.get("$defs", {})).walk(raw)


class _Walker:
    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def walk(self, raw: Schema, *, in_list: bool = False) -> Schema:
        node = self._without_null(self._inlined(raw))
        schema: Schema = {"description": ""}
        for keyword, value in node.items():
            schema |= self._keyword(keyword, value, in_list=in_list)
        self._set_integer_format(schema)
        self._reduce_default(schema)
        self._set_description(schema, node.get("description", ""))
        if in_list:
            schema.pop("default", None)
        if not {"type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"} & schema.keys():
            raise TypeError(f"a structural schema needs a type: {raw}")
        return schema

    def _inlined(self, raw: Schema) -> Schema:
        """Replace a reference by its definition. Keywords beside the reference take precedence."""
        if "$ref" not in raw:
            return raw
        beside = {keyword: value for keyword, value in raw.items() if keyword != "$ref"}
        return {**self._inlined(self._definitions[raw["$ref"].removeprefix("#/$defs/")]), **beside}

    def _without_null(self, node: Schema) -> Schema:
        """Turn `X | None` into X: the models drop nulls, as the API server does for fields that are not nullable."""
        if "anyOf" not in node:
            return node
        options = [option for option in node["anyOf"] if option.get("type") != "null"]
        if len(options) != 1:
            raise TypeError(f"a structural schema has no unions: {node}")
        rest = {keyword: value for keyword, value in node.items() if keyword != "anyOf"}
        if rest.get("default", ...) is None:
            del rest["default"]
        return {**self._inlined(options[0]), **rest}

    def _keyword(self, keyword: str, value: Any, *, in_list: bool) -> Schema:
        if keyword in _KEPT or keyword.startswith("x-kubernetes-"):
            return {keyword: value}
        match keyword:
            case "properties":
                return {keyword: {name: self.walk(child, in_list=in_list) for name, child in value.items()}}
            case "items":
                return {keyword: self.walk(value, in_list=True)}
            case "additionalProperties" if not isinstance(value, bool):
                return {keyword: self.walk(value, in_list=in_list)}
            case "const":
                return {"enum": [value]}
            case _ if keyword in _DROPPED:
                return {}
        raise TypeError(f"{keyword} is not allowed in a structural schema")

    @staticmethod
    def _set_integer_format(schema: Schema) -> None:
        if schema.get("type") == "integer":
            schema.setdefault("format", "int64")

    @staticmethod
    def _reduce_default(schema: Schema) -> None:
        """Reduce the default of an object to `{}` if its fields have defaults, else drop it. Drop empty lists too."""
        if schema.get("type") == "object" and "default" in schema and "properties" in schema:
            if any("default" in child for child in schema["properties"].values()):
                schema["default"] = {}
            else:
                del schema["default"]
        elif schema.get("default") == []:
            del schema["default"]

    @staticmethod
    def _set_description(schema: Schema, text: str) -> None:
        """Set the description, followed by the default; leave it out if both are empty."""
        default = schema.get("default")
        sentences = [" ".join(text.split())]
        if default is not None and schema.get("type") != "object":
            sentences.append(f"Default: {_shown(default)}.")
        schema["description"] = " ".join(filter(None, sentences))
        if not schema["description"]:
            del schema["description"]


def _shown(default: Any) -> str:
    """Return a default value as users write it."""
    if isinstance(default, str):
        return default
    if isinstance(default, list) and all(isinstance(element, str) for element in default):
        return ", ".join(default)
    return json.dumps(default)
