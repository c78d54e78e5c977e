"""Converts models to a structural schema: the subset of OpenAPI v3 that a CustomResourceDefinition accepts.

pydantic's JSON Schema has `$ref`, `anyOf`, `title` and `const`, which an API server refuses. If a model cannot be
converted, `structural_schema` raises TypeError, so that developers notice the problem before users do.

Fields of list elements have defaults in the models, but not in the schema. The API server would write defaults of the
schema into the lists. Tools that compare whole lists, such as Argo CD, would then always report a change.

`kubectl explain` shows descriptions, but no defaults. So the default value of a field is appended to its description.
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
        """Replace a reference by its definition. Keywords next to the reference take precedence."""
        if "$ref" not in raw:
            return raw
        beside = {keyword: value for keyword, value in raw.items() if keyword != "$ref"}
        return {**self._inlined(self._definitions[raw["$ref"].removeprefix("#/$defs/")]), **beside}

    def _without_null(self, node: Schema) -> Schema:
        """Replace `X | None` by X, because the models and the API server both drop nulls."""
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
        """Replace an object's default by `{}` if its fields have defaults; otherwise drop it. Also drop empty lists."""
        if schema.get("type") == "object" and "default" in schema and "properties" in schema:
            if any("default" in child for child in schema["properties"].values()):
                schema["default"] = {}
            else:
                del schema["default"]
        elif schema.get("default") == []:
            del schema["default"]

    @staticmethod
    def _set_description(schema: Schema, text: str) -> None:
        """Set the description: the text, followed by the default. Set nothing if there is neither text nor default."""
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
