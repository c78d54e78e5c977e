"""Decodes Services, controllers, Namespaces and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, json

from moorage.model.api_metadata import ApiMetadata
from moorage.model.decode_selectors import decode_label_selector, labels_as_requirements, sorted_requirements
from moorage.model.raw_fields import error_path
from moorage.model.selectors import LabelSelector
from moorage.model.workloads.api_workloads import ApiLabels, ApiMetadataOnly, ApiSelector
from moorage.model.workloads.workload_objects import Controller, Namespace, PodDisruptionBudget, Service


def decode_service(raw: bytes) -> Service:
    """Decode a Service."""
    api = json.decode(raw, type=ApiLabels)
    return Service(
        namespace=api.metadata.namespace or "default", name=api.metadata.name, selector=api.spec.selector or {}
    )


def decode_replication_controller(raw: bytes) -> Controller:
    """Decode a ReplicationController."""
    api = json.decode(raw, type=ApiLabels)
    requirements = sorted_requirements(labels_as_requirements(api.spec.selector or {}))
    return _controller("ReplicationController", api.metadata, LabelSelector(requirements))


def decode_replica_set(raw: bytes) -> Controller:
    """Decode a ReplicaSet."""
    api = json.decode(raw, type=ApiSelector)
    return _controller("ReplicaSet", api.metadata, _selector(api))


def decode_stateful_set(raw: bytes) -> Controller:
    """Decode a StatefulSet."""
    api = json.decode(raw, type=ApiSelector)
    return _controller("StatefulSet", api.metadata, _selector(api))


def decode_namespace(raw: bytes) -> Namespace:
    """Decode a Namespace."""
    metadata = json.decode(raw, type=ApiMetadataOnly).metadata
    return Namespace(name=metadata.name, labels=metadata.labels or {})


def decode_pod_disruption_budget(raw: bytes) -> PodDisruptionBudget:
    """Decode a PodDisruptionBudget."""
    api = json.decode(raw, type=ApiSelector)
    return PodDisruptionBudget(
        namespace=api.metadata.namespace or "default",
        name=api.metadata.name,
        selector=_selector(api),
        disruptions_allowed=api.status.disruptions_allowed,
        disrupted_pods=frozenset(api.status.disrupted_pods or ()),
    )


WORKLOAD_DECODERS: Mapping[str, Callable[[bytes], object]] = {
    "Service": decode_service,
    "ReplicationController": decode_replication_controller,
    "ReplicaSet": decode_replica_set,
    "StatefulSet": decode_stateful_set,
    "Namespace": decode_namespace,
    "PodDisruptionBudget": decode_pod_disruption_budget,
}
"""Decoders by kind."""
WORKLOAD_STRUCTS: Mapping[str, type[Struct]] = {
    "Service": ApiLabels,
    "ReplicationController": ApiLabels,
    "ReplicaSet": ApiSelector,
    "StatefulSet": ApiSelector,
    "Namespace": ApiMetadataOnly,
    "PodDisruptionBudget": ApiSelector,
}
"""The struct with the fields that the decoder of a kind reads, by kind."""


def _selector(api: ApiSelector) -> LabelSelector | None:
    with error_path("spec.selector"):
        return decode_label_selector(api.spec.selector)


def _controller(kind: str, metadata: ApiMetadata, selector: LabelSelector | None) -> Controller:
    return Controller(
        kind=kind,
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid,
        selector=selector,
    )
