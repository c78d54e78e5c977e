"""CustomResourceDefinitions: what makes one acceptable, and the resources it serves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.kinds.schemas import Schema, Schemas
from moorage.sandbox.kinds.structural import apply_defaults, prune
from moorage.sandbox.kinds.validation import missing_fields, validate
from moorage.sandbox.objects import Object, copy, dig
from moorage.sandbox.status import FieldError

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_FORBIDDEN = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema")


@dataclass(frozen=True, slots=True)
class CustomKind:
    """What a served version of a custom kind has beyond a built-in one."""

    schema: Schema
    rules: CelRules
    list_kind: str
    printer_columns: tuple[Mapping[str, Any], ...]
    selectable_fields: frozenset[str]
    raw_schema: Mapping[str, Any]
    has_rules: bool

    def default(self, obj: Object) -> None:
        """Fill in the schema's defaults, in place."""
        apply_defaults(obj, self.schema)

    def errors(self, obj: Object, old: Object | None) -> Iterator[FieldError]:
        """Find all faults; CEL rules run only on an object whose shape is right."""
        found = list(self._schema_errors(obj))
        yield from found
        if not any(error.reason in _BLOCKING for error in found):
            yield from self.rules.check(obj, old, self.schema)
        elif self.has_rules:
            yield FieldError("<nil>", "FieldValueInvalid", None, _UNCHECKED)

    def _schema_errors(self, obj: Object) -> Iterator[FieldError]:
        without_metadata = {name: value for name, value in obj.items() if name != "metadata"}
        yield from (error for error in validate(without_metadata, self.schema) if error.field != "metadata")


def served_types(crd: Object, schemas: Schemas, rules: CelRules) -> Iterator[ResourceType]:
    """Make the resources a CustomResourceDefinition serves, one a version."""
    spec = crd["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        raw = dig(version, "schema", "openAPIV3Schema") or {"type": "object"}
        paths = (field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ())
        schema = schemas.custom(raw)
        custom = CustomKind(
            schema, rules, names["listKind"],
            tuple(version.get("additionalPrinterColumns") or ()), frozenset(paths), raw, rules.present_in(schema),
        )  # fmt: skip
        yield ResourceType(
            spec["group"], version["name"], names["kind"], names["plural"],
            namespaced=spec["scope"] == "Namespaced", singular=names["singular"],
            short_names=tuple(names.get("shortNames") or ()), categories=tuple(names.get("categories") or ()),
            has_status=dig(version, "subresources", "status") is not None, custom=custom,
        )  # fmt: skip


def default_definition(crd: Object) -> None:
    """Fill in what a CustomResourceDefinition leaves open, in place."""
    names = crd["spec"].setdefault("names", {})
    if "kind" in names:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    crd["spec"].setdefault("conversion", {"strategy": "None"})


def definition_errors(crd: Object, schemas: Schemas, rules: CelRules) -> Iterator[FieldError]:
    """Find the faults that kube-apiserver refuses a CustomResourceDefinition for."""
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
        faults = list(_structural_faults(schema, path, root=True))
        yield from faults
        if not faults:
            view = schemas.custom(schema)
            yield from rules.faults(view, path)
            yield from _default_faults(view, path)


def _structural_faults(node: Mapping[str, Any], path: str, *, root: bool = False) -> Iterator[FieldError]:
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
    yield from _pattern_faults(node, path)
    if node.get("type") == "array" and "items" not in node:
        yield FieldError(f"{path}.items", "FieldValueRequired", detail="must be specified")
    yield from _list_faults(node, path)
    for name, child in (node.get("properties") or {}).items():
        yield from _structural_faults(child, f"{path}.properties[{name}]")
    if isinstance(node.get("items"), dict):
        yield from _structural_faults(node["items"], f"{path}.items")
    if isinstance(node.get("additionalProperties"), dict):
        yield from _structural_faults(node["additionalProperties"], f"{path}.additionalProperties")


def _pattern_faults(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if "pattern" in node:
        try:
            re.compile(node["pattern"])
        except re.error as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError(f"{path}.pattern", "FieldValueInvalid", node["pattern"], detail)


def _list_faults(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
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


def _default_faults(schema: Schema, path: str) -> Iterator[FieldError]:
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
        yield from _default_faults(child, where)
    if schema.items is not None:
        yield from _default_faults(schema.items, f"{path}.items")


def established_status(crd: Object, now: str) -> Object:
    """Write the status of a definition whose names are accepted and which is served."""
    conditions = [
        {
            "type": "NamesAccepted", "status": "True", "lastTransitionTime": now,
            "reason": "NoConflicts", "message": "no conflicts found",
        },
        {
            "type": "Established", "status": "True", "lastTransitionTime": now,
            "reason": "InitialNamesAccepted", "message": "the initial names have been accepted",
        },
    ]  # fmt: skip
    kept = dig(crd, "status", "conditions")
    stored = next(version["name"] for version in crd["spec"]["versions"] if version.get("storage"))
    versions = list(dict.fromkeys([*(dig(crd, "status", "storedVersions") or ()), stored]))
    return {
        "acceptedNames": copy(crd["spec"]["names"]), "conditions": kept or conditions, "storedVersions": versions,
    }  # fmt: skip
