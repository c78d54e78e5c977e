"""What a pod takes of a node: the sum of its containers, its init containers, sidecars, pod-level amounts and overhead.

Upstream: `staging/src/k8s.io/component-helpers/resource/helpers.go` (PodRequests). Amounts here are billionths, so that
a sum is rounded once; a resource that is not stated is absent, which is not the same as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from moorage.model.quantity import NANO, milli, whole
from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Resources

NanoAmounts = Mapping[str, int]

DEFAULT_REQUESTS: NanoAmounts = {CPU: NANO // 10, MEMORY: 200 * 1024 * 1024 * NANO}
"""What scoring takes a container to need that states nothing (upstream `pkg/scheduler/util/pod_resources.go`)."""


@dataclass(frozen=True, slots=True)
class ContainerAmounts:
    """One container's requests; `restartable` says that an init container keeps running (a sidecar)."""

    name: str
    requests: NanoAmounts
    restartable: bool = False


@dataclass(frozen=True, slots=True)
class PodAmounts:
    """All amounts that a pod states."""

    containers: tuple[ContainerAmounts, ...]
    init_containers: tuple[ContainerAmounts, ...] = ()
    pod_level: NanoAmounts | None = None
    """Requests of the pod as a whole, of the resources that may be stated there; None where it states none."""
    overhead: NanoAmounts | None = None


def pod_requests(pod: PodAmounts, defaults: NanoAmounts | None = None, *, pod_level: bool = True) -> NanoAmounts:
    """Return the effective requests; `defaults` stand in for what a container does not state."""
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


def non_zero_requests(pod: PodAmounts) -> NanoAmounts:
    """Return the requests of a placed pod as scoring counts them (upstream `PodInfo.CalculateResource`)."""
    if pod.pod_level is None:
        return pod_requests(pod, DEFAULT_REQUESTS)
    stated = pod_requests(pod)
    return pod_requests(pod, {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in stated})


def resized(
    pod: PodAmounts, actual: Mapping[str, NanoAmounts], pod_level: NanoAmounts | None, *, spec: bool
) -> PodAmounts:
    """Return the amounts of a pod that may be resized in place.

    `actual` holds, by container, the larger of what the kubelet has allocated and what is in force; `pod_level` the
    same for the pod as a whole. What the spec asks for counts too (`spec`), unless the kubelet found it infeasible.
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
    """Return the larger amount of each resource that either states."""
    if not other:
        return one
    return {**one, **{name: max(amount, one.get(name, amount)) for name, amount in other.items()}}


def to_resources(amounts: NanoAmounts) -> Resources:
    """Round up to the units that are counted in, leaving out names that are no resource of a node."""
    return Resources(
        tuple(
            (name, milli(nano) if name == CPU else whole(nano))
            for name, nano in sorted(amounts.items())
            if is_counted(name)
        )
    )


def is_counted(name: str) -> bool:
    """Whether the scheduler counts a resource of that name (upstream `IsScalarResourceName` and the native ones)."""
    if name in {CPU, MEMORY, EPHEMERAL_STORAGE} or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in name and ("kubernetes.io/" in name or not name.startswith("requests."))


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole may state a request of that resource (upstream `IsSupportedPodLevelResource`)."""
    return name in {CPU, MEMORY} or name.startswith("hugepages-")


def _sum(parts: Iterable[NanoAmounts]) -> NanoAmounts:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total
