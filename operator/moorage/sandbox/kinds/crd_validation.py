"""Validation of CustomResourceDefinitions: the most important of kube-apiserver's checks.

Upstream: apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.schemas import Schema, Schemas
from moorage.sandbox.kinds.structural import apply_defaults, prune
from moorage.sandbox.kinds.validation import missing_fields, validate
from moorage.sandbox.objects import Object, copy, dig

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_FORBIDDEN = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema")


def definition_errors(crd: Object, schemas: Schemas, rules: CelRules) -> Iterator[FieldError]:
    """Yield the errors of a CustomResourceDefinition. If required fields are missing, yield only those errors."""
    kind = schemas.builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    missing = [] if kind is None else list(missing_fields(crd, kind))
    if missing:
        yield from missing
        return
    spec = crd["spec"]
    wanted = f"{dig(spec, 'names', 'plural')}.{spec.get('group')}"
    if crd["metadata"]["name"] != wanted:
        detail = 'must be spec.names.plural+"."+spec.group'
        yield FieldError("metadata.name", "FieldValueInvalid", crd["metadata"]["name"], detail)
    if spec.get("scope") not in {"Cluster", "Namespaced"}:
        detail = 'supported values: "Cluster", "Namespaced"'
        yield FieldError("spec.scope", "FieldValueNotSupported", spec.get("scope"), detail)
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield FieldError("spec.versions", "FieldValueInvalid", [version.get("name") for version in versions], detail)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = dig(version, "schema", "openAPIV3Schema")
        if schema is None:
            yield FieldError(path, "FieldValueRequired", detail="schemas are required")
            continue
        errors = list(_structural_errors(schema, path, root=True))
        yield from errors
        if not errors:
            view = schemas.custom(schema)
            yield from rules.compilation_errors(view, path)
            yield from _default_errors(view, path)


def _structural_errors(node: Mapping[str, Any], path: str, *, root: bool = False) -> Iterator[FieldError]:
    for word in _FORBIDDEN:
        if word in node:
            yield FieldError(f"{path}.{word}", "FieldValueForbidden", detail=f"{word} is not supported")
    if node.get("uniqueItems"):
        yield FieldError(f"{path}.uniqueItems", "FieldValueForbidden", detail="uniqueItems cannot be set to true")
    free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    if not node.get("type") and not free:
        what = "the root" if root else "specified object fields"
        yield FieldError(f"{path}.type", "FieldValueRequired", detail=f"must not be empty for {what}")
    elif node.get("type") and node["type"] not in _TYPES:
        supported = ", ".join(f'"{name}"' for name in _TYPES)
        yield FieldError(f"{path}.type", "FieldValueNotSupported", node["type"], f"supported values: {supported}")
    yield from _pattern_errors(node, path)
    if node.get("type") == "array" and "items" not in node:
        yield FieldError(f"{path}.items", "FieldValueRequired", detail="must be specified")
    yield from _list_errors(node, path)
    for name, child in (node.get("properties") or {}).items():
        yield from _structural_errors(child, f"{path}.properties[{name}]")
    if isinstance(node.get("items"), dict):
        yield from _structural_errors(node["items"], f"{path}.items")
    if isinstance(node.get("additionalProperties"), dict):
        yield from _structural_errors(node["additionalProperties"], f"{path}.additionalProperties")


def _pattern_errors(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if "pattern" in node:
        try:
            re.compile(node["pattern"])
        except re.error as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError(f"{path}.pattern", "FieldValueInvalid", node["pattern"], detail)


def _list_errors(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if node.get("x-kubernetes-list-type") != "map":
        return
    keys = node.get("x-kubernetes-list-map-keys")
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield FieldError(f"{path}.x-kubernetes-list-map-keys", "FieldValueRequired", detail=detail)
    items = node.get("items") or {}
    for key in keys or ():
        child = (items.get("properties") or {}).get(key) or {}
        if key not in (items.get("required") or ()) and "default" not in child:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            yield FieldError(f"{path}.items.properties[{key}].default", "FieldValueRequired", detail=detail)


def _default_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    for name, node in schema.properties.items():
        child = schema.field(name)
        if child is None or name == "metadata":
            continue
        where = f"{path}.properties[{name}]"
        if "default" in node:
            unknown: list[str] = []
            value = copy(node["default"])
            apply_defaults(value, child)
            prune(value, child, unknown)
            yield from validate(value, child, f"{where}.default")
            for field in unknown:
                yield FieldError(f"{where}.default", "FieldValueInvalid", field, "must not have unknown fields")
        yield from _default_errors(child, where)
    if schema.items is not None:
        yield from _default_errors(schema.items, f"{path}.items")
