"""Decodes the amounts of resources that a pod requests, in its spec and, after an in-place resize, in its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Raw, json

from moorage.model.pods.api_pods import (
    ApiContainer,
    ApiContainerStatus,
    ApiPodSpec,
    ApiPodStatus,
    ApiResources,
)
from moorage.model.pods.requests import ContainerAmounts, NanoAmounts, PodAmounts, is_pod_level, largest, resized
from moorage.model.quantity import Amount, Amounts, nano_value
from moorage.model.raw_fields import NULL, read


def decode_pod_amounts(spec: ApiPodSpec) -> PodAmounts:
    """Decode all amounts in the spec; raise ValueError with the path of a field that is not a quantity."""
    return PodAmounts(
        containers=_decode_containers(spec.containers, "spec.containers", _decode_requests),
        init_containers=_decode_containers(spec.init_containers, "spec.initContainers", _decode_requests),
        pod_level=_pod_level(_decode_requests(spec.resources, "spec.resources")),
        overhead=_parse_amounts(read(spec.overhead, Amounts), "spec.overhead") or None,
    )


def decode_pod_limits(spec: ApiPodSpec) -> PodAmounts:
    """Decode the limits and the overhead; raise ValueError with the path of a field that is not a quantity."""
    return PodAmounts(
        containers=_decode_containers(spec.containers, "spec.containers", _decode_limits),
        init_containers=_decode_containers(spec.init_containers, "spec.initContainers", _decode_limits),
        pod_level=_pod_level(_decode_limits(spec.resources, "spec.resources")),
        overhead=_parse_amounts(read(spec.overhead, Amounts), "spec.overhead") or None,
    )


def placed_amounts(in_spec: PodAmounts, status: ApiPodStatus) -> PodAmounts:
    """Return the amounts that the pod uses on its node: the amounts in the spec, changed by resizes in the status."""
    actual: dict[str, NanoAmounts] = {}
    for container in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if container.resources != NULL:
            actual[container.name] = _largest_in_status(container, f"status.containerStatuses[{container.name}]")
    level = None
    if status.resources != NULL:
        level = _largest_in_status(status, "status")
    return resized(in_spec, actual, level and _pod_level(level), spec=not _is_infeasible(status))


def resize_key(spec: ApiPodSpec, status: ApiPodStatus) -> bytes | None:
    """Return a cache key for `placed_amounts` among pods of one shape; None if the status has no amounts."""
    containers, init_containers = status.container_statuses, status.init_container_statuses
    if not containers and not init_containers and status.resources == NULL:
        return None
    infeasible = _is_infeasible(status)
    names = [each.name for each in (*(spec.containers or ()), *(spec.init_containers or ()))]
    parts = (names, containers, init_containers, status.resources, status.allocated_resources, infeasible)
    return json.encode(parts)


def resource_names(raw: Raw) -> set[str]:
    """Return the names of the resources that a container requests or limits."""
    resources = read(raw, ApiResources) or ApiResources()
    return {*(resources.requests or ()), *(resources.limits or ())}


def _decode_containers(
    containers: Sequence[ApiContainer] | None, path: str, decode: Callable[[Raw, str], NanoAmounts]
) -> tuple[ContainerAmounts, ...]:
    return tuple(
        ContainerAmounts(
            container.name,
            decode(container.resources, f"{path}[{index}].resources"),
            restartable=container.restart_policy == "Always",
        )
        for index, container in enumerate(containers or ())
    )


def _pod_level(requests: NanoAmounts) -> NanoAmounts | None:
    return {name: amount for name, amount in requests.items() if is_pod_level(name)} or None


def _is_infeasible(status: ApiPodStatus) -> bool:
    """Return whether the kubelet reports that the node can never hold the resized pod."""
    return any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in status.conditions or ())


def _largest_in_status(status: ApiContainerStatus | ApiPodStatus, path: str) -> NanoAmounts:
    """Return, for each resource, the larger of the applied and the allocated amount."""
    allocated = read(status.allocated_resources, Amounts)
    return largest(
        _decode_requests(status.resources, f"{path}.resources"),
        _parse_amounts(allocated, f"{path}.allocatedResources"),
    )


def _decode_requests(raw: Raw, path: str) -> NanoAmounts:
    """Decode the requests of the `v1.ResourceRequirements` at `path`."""
    resources = read(raw, ApiResources)
    return _parse_amounts(resources.requests if resources else None, f"{path}.requests")


def _decode_limits(raw: Raw, path: str) -> NanoAmounts:
    """Decode the limits of the `v1.ResourceRequirements` at `path`."""
    resources = read(raw, ApiResources)
    return _parse_amounts(resources.limits if resources else None, f"{path}.limits")


def _parse_amounts(quantities: Mapping[str, Amount] | None, path: str) -> NanoAmounts:
    """Parse a map of quantities at `path`; raise ValueError with the path of an entry that is not a quantity."""
    result: dict[str, int] = {}
    for name, quantity in (quantities or {}).items():
        try:
            result[name] = nano_value(quantity)
        except ValueError as error:
            raise ValueError(f"{path}.{name}: {error}") from error
    return result
