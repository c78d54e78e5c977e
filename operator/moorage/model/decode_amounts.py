"""Amounts of a pod: from raw bytes of the wire to `PodAmounts`, with what a resize in place changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import json

from moorage.model.quantity import nano_value
from moorage.model.requests import ContainerAmounts, NanoAmounts, PodAmounts, is_pod_level, largest, resized
from moorage.model.wire import (
    NULL,
    Amounts,
    ContainerStatusWire,
    ContainerWire,
    PodSpecWire,
    PodStatusWire,
    ResourcesWire,
)

_INFEASIBLE = ("PodResizePending", "Infeasible")


def pod_amounts(spec: PodSpecWire) -> PodAmounts:
    """Read all amounts of the spec; raise ValueError with the field's path where one is no quantity."""
    return PodAmounts(
        containers=_containers(spec.containers, "spec.containers"),
        init_containers=_containers(spec.init_containers, "spec.initContainers"),
        pod_level=_pod_level(requests_of(spec.resources, "spec.resources.requests")),
        overhead=amounts(json.decode(spec.overhead, type=Amounts | None), "spec.overhead") or None,
    )


def placed_amounts(stated: PodAmounts, status: PodStatusWire) -> PodAmounts:
    """Return the amounts that count on the pod's node, given its status."""
    infeasible = any((each.type, each.reason) == _INFEASIBLE for each in status.conditions or ())
    actual: dict[str, NanoAmounts] = {}
    for container in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if container.resources != NULL:
            actual[container.name] = _actual(container, f"status.containerStatuses[{container.name}]")
    level = None
    if status.resources != NULL:
        level = _actual(status, "status")
    return resized(stated, actual, level and _pod_level(level), spec=not infeasible)


def resize_key(status: PodStatusWire) -> tuple[object, ...] | None:
    """Return what `placed_amounts` depends on in hashable form, None where the status has no amounts."""
    statuses = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    parts = tuple(
        (each.name, bytes(each.resources), bytes(each.allocated_resources))
        for each in statuses
        if each.resources != NULL
    )
    level = bytes(status.resources)
    if not parts and status.resources == NULL:
        return None
    pending = tuple(each.reason for each in status.conditions or () if each.type == _INFEASIBLE[0])
    return (parts, level, bytes(status.allocated_resources), pending)


def resource_names(raw: bytes) -> set[str]:
    """Return the names of what a container requests or limits."""
    wire = json.decode(raw, type=ResourcesWire | None) or ResourcesWire()
    return {*(wire.requests or ()), *(wire.limits or ())}


def requests_of(raw: bytes, path: str) -> NanoAmounts:
    """Read the requests of a `ResourceRequirements`."""
    wire = json.decode(raw, type=ResourcesWire | None)
    return amounts(wire.requests if wire else None, path)


def amounts(wire: Mapping[str, str | int | float] | None, path: str) -> NanoAmounts:
    """Read a map of quantities; raise ValueError with the entry's path where one is no quantity."""
    result: dict[str, int] = {}
    for name, quantity in (wire or {}).items():
        try:
            result[name] = nano_value(quantity)
        except ValueError as error:
            raise ValueError(f"{path}.{name}: {error}") from error
    return result


def _containers(wires: Sequence[ContainerWire] | None, path: str) -> tuple[ContainerAmounts, ...]:
    return tuple(
        ContainerAmounts(
            wire.name,
            requests_of(wire.resources, f"{path}[{index}].resources.requests"),
            restartable=wire.restart_policy == "Always",
        )
        for index, wire in enumerate(wires or ())
    )


def _pod_level(requests: NanoAmounts) -> NanoAmounts | None:
    return {name: amount for name, amount in requests.items() if is_pod_level(name)} or None


def _actual(status: ContainerStatusWire | PodStatusWire, path: str) -> NanoAmounts:
    """Return the larger of the amounts in force and the amounts that the kubelet has set aside."""
    allocated = json.decode(status.allocated_resources, type=Amounts | None)
    return largest(
        requests_of(status.resources, f"{path}.resources.requests"), amounts(allocated, f"{path}.allocatedResources")
    )
