"""Amounts of a pod: from raw bytes of the wire to `PodAmounts`, with what a resize in place changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw, json

from moorage.model.pods.api_pods import (
    Amounts,
    ApiContainer,
    ApiContainerStatus,
    ApiPodSpec,
    ApiPodStatus,
    ApiResources,
)
from moorage.model.pods.requests import ContainerAmounts, NanoAmounts, PodAmounts, is_pod_level, largest, resized
from moorage.model.quantity import nano_value
from moorage.model.raw import NULL, read


def pod_amounts(spec: ApiPodSpec) -> PodAmounts:
    """Read all amounts of the spec; raise ValueError with the field's path where one is no quantity."""
    return PodAmounts(
        containers=_containers(spec.containers, "spec.containers"),
        init_containers=_containers(spec.init_containers, "spec.initContainers"),
        pod_level=_pod_level(requests_of(spec.resources, "spec.resources.requests")),
        overhead=amounts(read(spec.overhead, Amounts), "spec.overhead") or None,
    )


def placed_amounts(stated: PodAmounts, status: ApiPodStatus) -> PodAmounts:
    """Return the amounts that count on the pod's node, given its status."""
    actual: dict[str, NanoAmounts] = {}
    for container in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if container.resources != NULL:
            actual[container.name] = _actual(container, f"status.containerStatuses[{container.name}]")
    level = None
    if status.resources != NULL:
        level = _actual(status, "status")
    return resized(stated, actual, level and _pod_level(level), spec=not _is_infeasible(status))


def resize_key(spec: ApiPodSpec, status: ApiPodStatus) -> bytes | None:
    """Return what `placed_amounts` depends on besides the shape, None where the status has no amounts."""
    containers, init_containers = status.container_statuses, status.init_container_statuses
    if not containers and not init_containers and status.resources == NULL:
        return None
    infeasible = _is_infeasible(status)
    names = [each.name for each in (*(spec.containers or ()), *(spec.init_containers or ()))]
    parts = (names, containers, init_containers, status.resources, status.allocated_resources, infeasible)
    return json.encode(parts)


def resource_names(raw: Raw) -> set[str]:
    """Return the names of what a container requests or limits."""
    wire = read(raw, ApiResources) or ApiResources()
    return {*(wire.requests or ()), *(wire.limits or ())}


def requests_of(raw: Raw, path: str) -> NanoAmounts:
    """Read the requests of a `ResourceRequirements`."""
    wire = read(raw, ApiResources)
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


def _containers(wires: Sequence[ApiContainer] | None, path: str) -> tuple[ContainerAmounts, ...]:
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


def _is_infeasible(status: ApiPodStatus) -> bool:
    """Whether the kubelet said that a resize cannot be done on the pod's node."""
    return any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in status.conditions or ())


def _actual(status: ApiContainerStatus | ApiPodStatus, path: str) -> NanoAmounts:
    """Return the larger of the amounts in force and the amounts that the kubelet has set aside."""
    allocated = read(status.allocated_resources, Amounts)
    return largest(
        requests_of(status.resources, f"{path}.resources.requests"), amounts(allocated, f"{path}.allocatedResources")
    )
