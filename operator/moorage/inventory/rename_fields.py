"""Replaces the names in an object. Each text field of the structs that decode objects has a rule.

A field without a rule is an error. So a field that a decoder starts to read cannot appear in an anonymized dump by
mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import Struct, structs

from moorage.inventory.names import Names
from moorage.inventory.read_fields import RAW_FIELDS, STRUCTS, Json
from moorage.inventory.rename_rules import FIELD_RULES, STRUCT_RULES, Rename

_CONTROLLERS = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})


def rename_object(names: Names, kind: str, body: Json) -> Json:
    """Return an object of an inventory with tokens instead of names."""
    renamed: Json = {"apiVersion": body["apiVersion"], "kind": kind, **rename(STRUCTS[kind])(names, body)}
    metadata = renamed["metadata"]
    namespace = body["metadata"].get("namespace", "")
    metadata["name"] = _object_name(names, kind, namespace, body["metadata"].get("name", ""))
    if kind == "Pod":
        _rename_pod_volumes(names, namespace, body, renamed)
    if kind == "PersistentVolume" and (reference := (body.get("spec") or {}).get("claimRef")):
        renamed["spec"]["claimRef"]["name"] = names.claim(reference.get("namespace", ""), reference.get("name", ""))
    return renamed


@cache
def rename(kind: Any) -> Rename:
    """Return the function that renames a value of a type; raise LookupError for a type without a rule."""
    if kind in STRUCT_RULES:
        return STRUCT_RULES[kind]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _rename_struct(kind)
    origin, arguments = get_origin(kind), [each for each in get_args(kind) if each is not type(None)]
    if origin in {Union, UnionType} and len(arguments) == 1:
        return rename(arguments[0])
    if origin is list:
        return _rename_list(rename(arguments[0]))
    if kind in {int, bool}:
        return lambda _, value: value
    raise LookupError(f"no rule renames a value of the type {kind}")


def _rename_struct(struct: type[Struct]) -> Rename:
    fields: dict[str, Rename] = {}
    for each in structs.fields(struct):
        rule = FIELD_RULES.get((struct, each.name))
        if rule is None:
            try:
                rule = rename(RAW_FIELDS.get((struct, each.name), each.type))
            except LookupError as error:
                raise LookupError(f"{struct.__name__}.{each.name}: {error}") from error
        fields[each.encode_name] = rule

    def rename_fields(names: Names, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: fields[key](names, each) for key, each in value.items() if key in fields}

    return rename_fields


def _rename_list(rule: Rename) -> Rename:
    return lambda names, value: [rule(names, each) for each in value] if isinstance(value, list) else value


def _object_name(names: Names, kind: str, namespace: str, name: str) -> str:
    if kind == "PersistentVolumeClaim":
        return names.claim(namespace, name)
    if kind in _CONTROLLERS:
        return names.workload(name)
    if kind == "CSIDriver":
        return names.driver(name)
    by_kind: Mapping[str, Callable[[str], str]] = {
        "Node": names.node,
        "CSINode": names.node,
        "Pod": names.pod,
        "Namespace": names.namespace,
        "StorageClass": names.storage_class,
        "PersistentVolume": names.persistent_volume,
    }
    return by_kind[kind](name) if kind in by_kind else names.token(kind.lower(), name)


def _rename_pod_volumes(names: Names, namespace: str, pod: Json, renamed: Json) -> None:
    """Rename the claims of a pod, and record its ephemeral volumes. Both need the pod's namespace."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    for volume, new in zip(volumes, (renamed.get("spec") or {}).get("volumes") or (), strict=True):
        if claim := volume.get("persistentVolumeClaim"):
            new["persistentVolumeClaim"]["claimName"] = names.claim(namespace, claim.get("claimName", ""))
        elif "ephemeral" in volume:
            names.ephemeral_volume(namespace, pod["metadata"]["name"], volume.get("name", ""))
