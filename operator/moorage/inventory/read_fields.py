"""Reduces an object to the fields that scheduling reads. The structs that decode objects define these fields.

So a dump has no environment, commands, arguments, managed fields or secrets. It keeps only the few annotations that
describe volumes. If a decoder starts to read a new field, dumps contain this field without a change of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import Raw, Struct, structs

from moorage.inventory.kinds import KINDS, POLICY
from moorage.inventory.policy_fields import keep_policy_fields
from moorage.model.api_metadata import ApiStorageMetadata
from moorage.model.api_nodes import ApiNode
from moorage.model.device_class import ApiDeviceClass
from moorage.model.pods.api_constraints import ApiAffinity, ApiSpreadConstraint, ApiToleration
from moorage.model.pods.api_pods import (
    ApiContainer,
    ApiContainerStatus,
    ApiNamed,
    ApiPod,
    ApiPodSpec,
    ApiPodStatus,
    ApiPort,
    ApiResources,
    ApiRestartRule,
)
from moorage.model.quantity import Amounts
from moorage.model.volumes.decode_storage import STORAGE_ANNOTATIONS, STORAGE_STRUCTS
from moorage.model.volumes.decode_volumes import VOLUME_ANNOTATIONS, VOLUME_STRUCTS
from moorage.model.workloads.decode_workloads import WORKLOAD_STRUCTS

Json = dict[str, Any]
Keep = Callable[[Any], Any]

STRUCTS: Mapping[str, type[Struct]] = {
    "Node": ApiNode,
    "Pod": ApiPod,
    "DeviceClass": ApiDeviceClass,
    **WORKLOAD_STRUCTS,
    **VOLUME_STRUCTS,
    **STORAGE_STRUCTS,
}
"""The struct that decodes each kind."""

RAW_FIELDS: Mapping[tuple[type[Struct], str], Any] = {
    (ApiContainer, "resources"): ApiResources,
    (ApiContainer, "ports"): list[ApiPort],
    (ApiContainer, "restart_policy_rules"): list[ApiRestartRule],
    (ApiPodSpec, "node_selector"): dict[str, str],
    (ApiPodSpec, "affinity"): ApiAffinity,
    (ApiPodSpec, "tolerations"): list[ApiToleration],
    (ApiPodSpec, "topology_spread_constraints"): list[ApiSpreadConstraint],
    (ApiPodSpec, "overhead"): Amounts,
    (ApiPodSpec, "resources"): ApiResources,
    (ApiPodSpec, "resource_claims"): list[ApiNamed],
    (ApiContainerStatus, "resources"): ApiResources,
    (ApiContainerStatus, "allocated_resources"): Amounts,
    (ApiPodStatus, "resources"): ApiResources,
    (ApiPodStatus, "allocated_resources"): Amounts,
}
"""The types of fields that a struct leaves as raw JSON. A second pass decodes these fields."""

_ANNOTATIONS = VOLUME_ANNOTATIONS | STORAGE_ANNOTATIONS
_CONDITIONS = frozenset({"PodScheduled", "PodResizePending", "DisruptionTarget"})


def keep_read_fields(kind: str, body: Mapping[str, Any]) -> Json:
    """Return an object with only the fields that scheduling reads, and its apiVersion and kind."""
    kept = keep_policy_fields(body) if kind == POLICY else _keep(STRUCTS[kind])(body)
    if kind == "Pod":
        _trim_pod(kept)
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, **kept}


def _trim_pod(pod: Json) -> None:
    """Remove the volumes and conditions that scheduling ignores.

    `_keep` has already reduced them to a name or a type.
    """
    spec, status = pod.get("spec"), pod.get("status")
    if isinstance(spec, dict) and isinstance(volumes := spec.get("volumes"), list):
        spec["volumes"] = [each for each in volumes if not isinstance(each, dict) or each.keys() - {"name"}]
    if isinstance(status, dict) and isinstance(conditions := status.get("conditions"), list):
        kept = [each for each in conditions if not isinstance(each, dict) or each.get("type") in _CONDITIONS]
        status["conditions"] = kept


@cache
def _keep(kind: Any) -> Keep:
    """Return the function that reduces a value of a type. The function does not change a value of a wrong type."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _keep_struct(kind)
    origin, arguments = get_origin(kind), [each for each in get_args(kind) if each is not type(None)]
    if origin in {Union, UnionType} and len(arguments) == 1:
        return _keep(arguments[0])
    if origin is list:
        return _keep_list(_keep(arguments[0]))
    if origin is dict and arguments[1] is Raw:
        return _keep_keys
    return _unchanged


def _keep_struct(struct: type[Struct]) -> Keep:
    fields: dict[str, Keep] = {}
    for each in structs.fields(struct):
        if struct is ApiStorageMetadata and each.name == "annotations":
            fields[each.encode_name] = _keep_annotations
        else:
            fields[each.encode_name] = _keep(RAW_FIELDS.get((struct, each.name), each.type))

    def keep(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: fields[key](each) for key, each in value.items() if key in fields and each is not None}

    return keep


def _keep_list(keep: Keep) -> Keep:
    return lambda value: [keep(each) for each in value] if isinstance(value, list) else value


def _keep_keys(value: Any) -> Any:
    return dict.fromkeys(value) if isinstance(value, dict) else value


def _keep_annotations(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: text for key, text in value.items() if key in _ANNOTATIONS}


def _unchanged(value: Any) -> Any:
    return value
