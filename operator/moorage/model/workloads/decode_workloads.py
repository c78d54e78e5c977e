"""Services, controllers, namespaces and budgets: from JSON to the digested structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Raw, Struct, json

from moorage.model.decode_selectors import label_selector, labels_as_requirements, ordered
from moorage.model.pods.api_constraints import ApiLabelSelector
from moorage.model.pods.api_pods import ApiMetadata
from moorage.model.raw import at
from moorage.model.selectors import LabelSelector
from moorage.model.workloads.workload_objects import Controller, Namespace, PodDisruptionBudget, Service


class _ApiLabelsSpec(Struct, frozen=True):
    """The part of a spec that selects by plain labels (Service, ReplicationController)."""

    selector: dict[str, str] | None = None


class _ApiLabels(Struct, frozen=True):
    metadata: ApiMetadata
    spec: _ApiLabelsSpec = _ApiLabelsSpec()


class _ApiSelectorSpec(Struct, frozen=True):
    """The part of a spec that selects by a label selector."""

    selector: ApiLabelSelector | None = None


class _ApiBudgetStatus(Struct, frozen=True, rename="camel"):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Raw] | None = None


class _ApiSelector(Struct, frozen=True):
    metadata: ApiMetadata
    spec: _ApiSelectorSpec = _ApiSelectorSpec()
    status: _ApiBudgetStatus = _ApiBudgetStatus()


class _ApiMetadataOnly(Struct, frozen=True):
    metadata: ApiMetadata


def service(raw: bytes) -> Service:
    """Digest a Service."""
    wire = json.decode(raw, type=_ApiLabels)
    return Service(
        namespace=wire.metadata.namespace or "default", name=wire.metadata.name, selector=wire.spec.selector or {}
    )


def replication_controller(raw: bytes) -> Controller:
    """Digest a ReplicationController, whose selector is plain labels."""
    wire = json.decode(raw, type=_ApiLabels)
    requirements = ordered(labels_as_requirements(wire.spec.selector or {}))
    return _controller("ReplicationController", wire.metadata, LabelSelector(requirements))


def replica_set(raw: bytes) -> Controller:
    """Digest a ReplicaSet."""
    wire = json.decode(raw, type=_ApiSelector)
    return _controller("ReplicaSet", wire.metadata, _selector(wire))


def stateful_set(raw: bytes) -> Controller:
    """Digest a StatefulSet."""
    wire = json.decode(raw, type=_ApiSelector)
    return _controller("StatefulSet", wire.metadata, _selector(wire))


def namespace(raw: bytes) -> Namespace:
    """Digest a Namespace."""
    metadata = json.decode(raw, type=_ApiMetadataOnly).metadata
    return Namespace(name=metadata.name, labels=metadata.labels or {})


def pod_disruption_budget(raw: bytes) -> PodDisruptionBudget:
    """Digest a PodDisruptionBudget."""
    wire = json.decode(raw, type=_ApiSelector)
    return PodDisruptionBudget(
        namespace=wire.metadata.namespace or "default",
        name=wire.metadata.name,
        selector=_selector(wire),
        disruptions_allowed=wire.status.disruptions_allowed,
        disrupted_pods=frozenset(wire.status.disrupted_pods or ()),
    )


WORKLOAD_DIGESTS: Mapping[str, Callable[[bytes], object]] = {
    "Service": service,
    "ReplicationController": replication_controller,
    "ReplicaSet": replica_set,
    "StatefulSet": stateful_set,
    "Namespace": namespace,
    "PodDisruptionBudget": pod_disruption_budget,
}


def _selector(wire: _ApiSelector) -> LabelSelector | None:
    with at("spec.selector"):
        return label_selector(wire.spec.selector)


def _controller(kind: str, metadata: ApiMetadata, selector: LabelSelector | None) -> Controller:
    return Controller(
        kind=kind,
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid,
        selector=selector,
    )
