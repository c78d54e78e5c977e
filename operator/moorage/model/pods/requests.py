"""Computes the effective requests of a pod from its containers, pod-level requests and overhead.

Amounts are in billionths, so that only the sum is rounded. A resource that the pod does not request is absent from the
map. A request of zero is different: no default replaces it. Upstream:
`staging/src/k8s.io/component-helpers/resource/helpers.go` (PodRequests).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from moorage.model.quantity import NANO, milli, whole
from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Resources

NanoAmounts = Mapping[str, int]

DEFAULT_REQUESTS: NanoAmounts = {CPU: NANO // 10, MEMORY: 200 * 1024 * 1024 * NANO}
"""The amounts that scoring assumes if a container has no request (upstream `pkg/scheduler/util/pod_resources.go`)."""


@dataclass(frozen=True, slots=True)
class ContainerAmounts:
    """The requests of one container; an init container that is `restartable` is a sidecar and keeps running."""

    name: str
    requests: NanoAmounts
    restartable: bool = False


@dataclass(frozen=True, slots=True)
class PodAmounts:
    """All amounts that a pod requests."""

    containers: tuple[ContainerAmounts, ...]
    init_containers: tuple[ContainerAmounts, ...] = ()
    pod_level: NanoAmounts | None = None
    """Requests in `spec.resources`, only of resources that are valid there; None if the pod has none."""
    overhead: NanoAmounts | None = None


def pod_requests(pod: PodAmounts, defaults: NanoAmounts | None = None, *, pod_level: bool = True) -> NanoAmounts:
    """Return the effective requests of a pod.

    Each container gets `defaults` for the resources that it does not request. `pod_level=False` ignores the requests
    of the pod as a whole.
    """
    fill = defaults or {}
    total = _sum({**fill, **container.requests} for container in pod.containers)
    sidecars: NanoAmounts = {}
    peak: NanoAmounts = {}
    for container in pod.init_containers:
        own = {**fill, **container.requests}
        running = _sum((own, sidecars))
        if container.restartable:
            total = _sum((total, own))
            sidecars = running
        peak = largest(peak, running)
    total = largest(total, peak)
    if pod_level and pod.pod_level is not None:
        total = {**total, **pod.pod_level}
    return _sum((total, pod.overhead)) if pod.overhead else total


def pod_limits(pod: PodAmounts) -> NanoAmounts:
    """Return the effective limits of a pod (upstream `PodLimits`); overhead counts only where a limit is above 0."""
    limits = pod_requests(replace(pod, overhead=None))
    overhead = pod.overhead or {}
    return {name: amount + overhead.get(name, 0) if amount else 0 for name, amount in limits.items()}


def non_zero_requests(pod: PodAmounts) -> NanoAmounts:
    """Return the requests of a placed pod for scoring, with defaults (upstream `PodInfo.CalculateResource`)."""
    if pod.pod_level is None:
        return pod_requests(pod, DEFAULT_REQUESTS)
    requested = pod_requests(pod)
    return pod_requests(pod, {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in requested})


def resized(
    pod: PodAmounts, actual: Mapping[str, NanoAmounts], pod_level: NanoAmounts | None, *, spec: bool
) -> PodAmounts:
    """Return the amounts that a pod uses on its node during an in-place resize.

    `actual` maps the name of a container to the larger of its allocated and applied amounts. `pod_level` has these
    amounts for the pod as a whole. If `spec` is true, the result is the larger of these amounts and the amounts in the
    spec. The caller passes False if the kubelet reports that the resize is infeasible, so that the spec does not count.
    """

    def container(each: ContainerAmounts) -> ContainerAmounts:
        if each.name not in actual:
            return each
        return replace(each, requests=largest(each.requests, actual[each.name]) if spec else actual[each.name])

    level = pod.pod_level
    if level is not None and pod_level is not None:
        level = largest(level, pod_level) if spec else pod_level
    return replace(
        pod,
        containers=tuple(map(container, pod.containers)),
        init_containers=tuple(container(each) if each.restartable else each for each in pod.init_containers),
        pod_level=level,
    )


def largest(one: NanoAmounts, other: NanoAmounts) -> NanoAmounts:
    """Return the larger amount of each resource that is in either map."""
    if not other:
        return one
    return {**one, **{name: max(amount, one.get(name, amount)) for name, amount in other.items()}}


def to_resources(amounts: NanoAmounts) -> Resources:
    """Round amounts up to the scheduler's units; leave out names that are not resources of a node."""
    return Resources(
        tuple(
            (name, milli(nano) if name == CPU else whole(nano))
            for name, nano in sorted(amounts.items())
            if is_counted(name)
        )
    )


def is_counted(name: str) -> bool:
    """Return whether the scheduler counts the resource: native or scalar (upstream `IsScalarResourceName`)."""
    if name in {CPU, MEMORY, EPHEMERAL_STORAGE} or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in name and ("kubernetes.io/" in name or not name.startswith("requests."))


def is_pod_level(name: str) -> bool:
    """Return whether `spec.resources` may request the resource (upstream `IsSupportedPodLevelResource`)."""
    return name in {CPU, MEMORY} or name.startswith("hugepages-")


def _sum(parts: Iterable[NanoAmounts]) -> NanoAmounts:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total
