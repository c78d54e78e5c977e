"""The rules for replacing names: one rule for each field of the structs that decode objects.

A rule is a method of `Names`, or a function for a part with several names, or `_stays`. The rule `_stays` keeps the
values of a field that contains no names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from moorage.inventory.names import Names
from moorage.model import api_nodes, api_selectors
from moorage.model.api_metadata import ApiMetadata, ApiOwnerReference, ApiStorageMetadata
from moorage.model.device_class import ApiDeviceClassSpec
from moorage.model.pods import api_constraints, api_pod_volumes, api_pods
from moorage.model.volumes import api_storage, api_volumes
from moorage.model.volumes.decode_volumes import NODE_ANNOTATION, STORAGE_CLASS_ANNOTATION
from moorage.model.workloads import api_workloads

Rename = Callable[[Names, Any], Any]

_NUMBER_OPERATORS = frozenset({"Gt", "Lt"})


def _stays(names: Names, value: Any) -> Any:
    del names
    return value


def _labels(names: Names, value: Any) -> Any:
    return {names.key(key): names.value(key, text) for key, text in value.items()}


def _amounts(names: Names, value: Any) -> Any:
    return {names.resource(key): amount for key, amount in value.items()}


def _each(rule: Callable[[Names, str], str]) -> Rename:
    return lambda names, value: [rule(names, each) for each in value]


def _keys(rule: Callable[[Names, str], str]) -> Rename:
    return lambda names, value: {rule(names, key): each for key, each in value.items()}


def _named(category: str) -> Rename:
    return lambda names, value: names.token(category, value)


def _requirement(names: Names, value: Any) -> Any:
    """Rename a requirement for labels or fields, or a term of `allowedTopologies`."""
    key = value.get("key", "")
    if value.get("operator") in _NUMBER_OPERATORS:
        names.keep_numbers(key)
    renamed = {**value, "key": names.key(key)}
    if "values" in value:
        renamed["values"] = [names.value(key, each) for each in value["values"]]
    return renamed


def _taint(names: Names, value: Any) -> Any:
    """Rename a taint or a toleration."""
    key = value.get("key", "")
    if value.get("operator") in _NUMBER_OPERATORS:
        names.keep_numbers(key)
    renamed = {**value, "key": names.key(key)} if key else dict(value)
    if "value" in value:
        renamed["value"] = names.value(key, value["value"])
    return renamed


def _owner(names: Names, value: Any) -> Any:
    kind, (group, slash, version) = value.get("kind", ""), value.get("apiVersion", "").rpartition("/")
    renamed = {**value, "uid": names.uid(value.get("uid", ""))}
    renamed["name"] = names.node(value.get("name", "")) if kind == "Node" else names.workload(value.get("name", ""))
    if "." in group and (domain := names.domain(group)) != group:
        renamed |= {"apiVersion": f"{domain}{slash}{version}", "kind": names.token("kind", kind)}
    return renamed


def _annotations(names: Names, value: Any) -> Any:
    rules = {NODE_ANNOTATION: names.node, STORAGE_CLASS_ANNOTATION: names.storage_class}
    return {key: rules[key](text) if key in rules else text for key, text in value.items()}


def _condition(names: Names, value: Any) -> Any:
    del names
    return {key: text for key, text in value.items() if key != "message"}


def _pool(names: Names, value: Any) -> Any:
    return value if value == "rbd" else names.disk(value)


STRUCT_RULES: Mapping[Any, Rename] = {
    api_selectors.ApiRequirement: _requirement,
    api_storage.ApiTopologyRequirement: _requirement,
    api_nodes.ApiTaint: _taint,
    api_constraints.ApiToleration: _taint,
    ApiOwnerReference: _owner,
    api_pods.ApiCondition: _condition,
    api_pods.ApiRestartRule: _stays,
    api_pods.ApiPort: _stays,
}
"""Rules of whole structs."""

_CLASS, _DISK, _DRIVER, _UID = Names.storage_class, Names.disk, Names.driver, Names.uid

FIELD_RULES: Mapping[tuple[type[Struct], str], Rename] = {
    **{
        (metadata, field): rule
        for metadata in (ApiMetadata, ApiStorageMetadata)
        for field, rule in {
            "name": _stays,  # `rename_object` renames it, because its category depends on the kind
            "namespace": Names.namespace,
            "uid": Names.uid,
            "resource_version": _stays,
            "labels": _labels,
            "annotations": _annotations,
            "creation_timestamp": _stays,
            "deletion_timestamp": _stays,
        }.items()
    },
    (api_nodes.ApiNodeStatus, "allocatable"): _amounts,
    (api_nodes.ApiNodeStatus, "declared_features"): _stays,
    (api_nodes.ApiContainerImage, "names"): _each(Names.image),
    (api_selectors.ApiLabelSelector, "match_labels"): _labels,
    (api_pods.ApiContainer, "name"): _named("container"),
    (api_pods.ApiContainer, "image"): Names.image,
    (api_pods.ApiContainer, "restart_policy"): _stays,
    (api_pods.ApiNamed, "name"): Names.key,
    (api_pods.ApiPodSpec, "node_name"): Names.node,
    (api_pods.ApiPodSpec, "scheduler_name"): Names.scheduler,
    (api_pods.ApiPodSpec, "preemption_policy"): _stays,
    (api_pods.ApiPodSpec, "node_selector"): _labels,
    (api_pods.ApiPodSpec, "overhead"): _amounts,
    (api_pods.ApiContainerStatus, "name"): _named("container"),
    (api_pods.ApiContainerStatus, "allocated_resources"): _amounts,
    (api_pods.ApiPodStatus, "phase"): _stays,
    (api_pods.ApiPodStatus, "start_time"): _stays,
    (api_pods.ApiPodStatus, "nominated_node_name"): Names.node,
    (api_pods.ApiPodStatus, "allocated_resources"): _amounts,
    (api_pods.ApiResources, "requests"): _amounts,
    (api_pods.ApiResources, "limits"): _amounts,
    (api_constraints.ApiPodTerm, "topology_key"): Names.key,
    (api_constraints.ApiPodTerm, "namespaces"): _each(Names.namespace),
    (api_constraints.ApiSpreadConstraint, "topology_key"): Names.key,
    (api_constraints.ApiSpreadConstraint, "when_unsatisfiable"): _stays,
    (api_constraints.ApiSpreadConstraint, "node_affinity_policy"): _stays,
    (api_constraints.ApiSpreadConstraint, "node_taints_policy"): _stays,
    (api_constraints.ApiSpreadConstraint, "match_label_keys"): _each(Names.key),
    (api_pod_volumes.ApiVolume, "name"): _named("podvolume"),
    (api_pod_volumes.ApiClaimVolume, "claim_name"): _stays,  # `rename_object` renames it, with the pod's namespace
    (api_pod_volumes.ApiImageVolume, "reference"): Names.image,
    (api_pod_volumes.ApiGCEDisk, "pd_name"): _DISK,
    (api_pod_volumes.ApiAWSDisk, "volume_id"): _DISK,
    (api_pod_volumes.ApiISCSI, "iqn"): _DISK,
    (api_pod_volumes.ApiRBD, "image"): _DISK,
    (api_pod_volumes.ApiRBD, "pool"): _pool,
    (api_pod_volumes.ApiRBD, "monitors"): _each(Names.disk),
    (api_storage.ApiStorageClass, "provisioner"): _DRIVER,
    (api_storage.ApiStorageClass, "volume_binding_mode"): _stays,
    (api_storage.ApiDriver, "name"): _DRIVER,
    (api_storage.ApiCSIStorageCapacity, "storage_class_name"): _CLASS,
    (api_storage.ApiCSIStorageCapacity, "capacity"): _stays,
    (api_storage.ApiCSIStorageCapacity, "maximum_volume_size"): _stays,
    (api_storage.ApiAttachedSource, "persistent_volume_name"): Names.persistent_volume,
    (api_storage.ApiAttachmentSpec, "attacher"): _DRIVER,
    (api_storage.ApiAttachmentSpec, "node_name"): Names.node,
    (api_volumes.ApiPhase, "phase"): _stays,
    (api_volumes.ApiClaimResources, "requests"): _stays,  # storage only
    (api_volumes.ApiClaimSpec, "access_modes"): _stays,
    (api_volumes.ApiClaimSpec, "volume_name"): Names.persistent_volume,
    (api_volumes.ApiClaimSpec, "storage_class_name"): _CLASS,
    (api_volumes.ApiClaimSpec, "volume_mode"): _stays,
    (api_volumes.ApiClaimSpec, "volume_attributes_class_name"): _CLASS,
    (api_volumes.ApiObjectReference, "namespace"): Names.namespace,
    (api_volumes.ApiObjectReference, "name"): _stays,  # `rename_object` renames it, with the namespace
    (api_volumes.ApiObjectReference, "uid"): _UID,
    (api_volumes.ApiCSISource, "driver"): _DRIVER,
    (api_volumes.ApiCSISource, "volume_handle"): _DISK,
    (api_volumes.ApiAWSSource, "volume_id"): _DISK,
    (api_volumes.ApiGCESource, "pd_name"): _DISK,
    (api_volumes.ApiAzureSource, "disk_uri"): _DISK,
    (api_volumes.ApiVolumeSpec, "capacity"): _stays,
    (api_volumes.ApiVolumeSpec, "access_modes"): _stays,
    (api_volumes.ApiVolumeSpec, "storage_class_name"): _CLASS,
    (api_volumes.ApiVolumeSpec, "volume_mode"): _stays,
    (api_volumes.ApiVolumeSpec, "volume_attributes_class_name"): _CLASS,
    (ApiDeviceClassSpec, "extended_resource_name"): Names.resource,
    (api_workloads.ApiLabelsSpec, "selector"): _labels,
    (api_workloads.ApiBudgetStatus, "disrupted_pods"): _keys(Names.pod),
}
"""Rules of single fields."""
