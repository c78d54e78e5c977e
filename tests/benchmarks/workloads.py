"""The clusters and pods of the benchmarks: plain data, the same for the engine alone and for the whole path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Manifest = dict[str, Any]

SCHEDULER_NAME = "bench"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ZONES = ("zone-a", "zone-b", "zone-c")
WORKLOADS = 20
"""The number of workloads of the placed pods; each has its own pod template."""


def node(index: int) -> Manifest:
    """Return one of many equal nodes. The nodes are in each zone in turn."""
    name = f"node-{index:05d}"
    resources = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "200Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: ZONES[index % len(ZONES)]}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def placed_pods(nodes: int, pods_a_node: int) -> Iterator[Manifest]:
    """Yield the pods that have a node before the measurement."""
    for number in range(nodes * pods_a_node):
        workload = f"workload-{number % WORKLOADS}"
        pod = _pod(f"placed-{number:06d}", workload, {"cpu": "100m", "memory": "200Mi"})
        pod["spec"]["nodeName"] = f"node-{number % nodes:05d}"
        pod["status"] = {"phase": "Running"}
        yield pod


def plain(number: int) -> Manifest:
    """Return a pod that only requests resources."""
    return _pod(f"pod-{number:06d}", "plain", {"cpu": "100m", "memory": "200Mi"})


def zone_spread(number: int) -> Manifest:
    """Return a pod with a hard spread constraint over zones."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector("spread"),
    }
    return _with(_pod(f"pod-{number:06d}", "spread", {"cpu": "100m"}), topologySpreadConstraints=[constraint])


def anti_affinity(number: int) -> Manifest:
    """Return a pod with anti-affinity to pods of its kind on the same node."""
    term = {"topologyKey": HOSTNAME, "labelSelector": _selector("apart")}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return _with(_pod(f"pod-{number:06d}", "apart", {"cpu": "100m"}), affinity=affinity)


def preferred_affinity(number: int) -> Manifest:
    """Return a pod that prefers zones with pods of another workload."""
    term = {"topologyKey": ZONE, "labelSelector": _selector("workload-1")}
    preferred = [{"weight": 10, "podAffinityTerm": term}]
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return _with(_pod(f"pod-{number:06d}", "near", {"cpu": "100m"}), affinity=affinity)


KINDS: Mapping[str, Callable[[int], Manifest]] = {
    "plain": plain,
    "zone spread": zone_spread,
    "anti-affinity": anti_affinity,
    "preferred affinity": preferred_affinity,
}
"""The measured kinds of pods, by their names in the table."""


def _pod(name: str, app: str, requests: Mapping[str, str]) -> Manifest:
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": dict(requests)}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
        "spec": {"schedulerName": SCHEDULER_NAME, "containers": [container]},
    }


def _with(pod: Manifest, **spec: Any) -> Manifest:
    return {**pod, "spec": {**pod["spec"], **spec}}


def _selector(app: str) -> Manifest:
    return {"matchLabels": {"app": app}}
