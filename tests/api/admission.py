"""A simple oracle for admission: it treats an object of the CRD as an API server does, without the models.

The oracle drops nulls, sets defaults and validates with jsonschema. Like
kubectl's strict validation, it refuses unknown fields. It refuses duplicates in sets and maps, and evaluates CEL rules.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema
from cel_expr_python import cel

Schema = dict[str, Any]


def admit(schema: Schema, manifest: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """Return the errors that an API server would find in an object; `old` is the stored object of an update."""
    content = filled(schema, manifest)
    validator = jsonschema.Draft202012Validator(closed(schema))
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(content)]
    if faults:
        return faults
    return [*duplicates(schema, content, "$"), *broken_rules(schema, content, "$", old and filled(schema, old))]


def filled(schema: Schema, value: Any) -> Any:
    """Return a copy without nulls and with all defaults. Sets the defaults of outer objects first."""
    if isinstance(value, dict):
        value = {name: child for name, child in value.items() if child is not None}
        for name, child in schema.get("properties", {}).items():
            if name not in value and "default" in child:
                value[name] = deepcopy(child["default"])
        return {name: filled(below(schema, name), child) for name, child in value.items()}
    if isinstance(value, list):
        return [filled(schema.get("items", {}), element) for element in value]
    return value


def below(schema: Schema, name: str) -> Schema:
    known: Schema = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
    return known


def closed(schema: Schema) -> Schema:
    """Return a copy of the schema. The copy refuses unknown fields, as strict field validation does."""
    copy = {name: value for name, value in schema.items() if name not in {"default", "format"}}
    if "properties" in schema:
        copy["properties"] = {name: closed(child) for name, child in schema["properties"].items()}
        if not is_metadata(schema):
            copy["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            copy[name] = closed(schema[name])
    return copy


def is_metadata(schema: Schema) -> bool:
    return set(schema["properties"]) == {"name"} and "required" not in schema


def duplicates(schema: Schema, value: Any, path: str) -> Iterator[str]:
    for where, child_schema, child in children(schema, value, path):
        yield from duplicates(child_schema, child, where)
    kind = schema.get("x-kubernetes-list-type")
    if kind in {"set", "map"}:
        keys = schema.get("x-kubernetes-list-map-keys", [])
        seen = [tuple(element[key] for key in keys) or element for element in value]
        if len(set(seen)) < len(seen):
            yield f"{path}: repeats an element"


def broken_rules(schema: Schema, value: Any, path: str, old: Any) -> Iterator[str]:
    for where, child_schema, child in children(schema, value, path):
        yield from broken_rules(child_schema, child, where, None)
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" in rule["rule"] and old is None:
            continue
        result = compiled(rule["rule"]).eval(data={"self": value, "oldSelf": old})
        assert result.type() != cel.Type.ERROR, f"{path}: {rule['rule']}: {result.value()}"
        if result.value() is not True:
            yield f"{path}: {rule['message']}"


def children(schema: Schema, value: Any, path: str) -> Iterator[tuple[str, Schema, Any]]:
    if isinstance(value, dict):
        yield from ((f"{path}.{name}", below(schema, name), child) for name, child in value.items())
    elif isinstance(value, list):
        yield from ((f"{path}[{index}]", schema.get("items", {}), child) for index, child in enumerate(value))


@cache
def compiled(rule: str) -> Any:
    environment = cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})
    return environment.compile(rule)
