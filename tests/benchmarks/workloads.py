"""The clusters and pods that are measured: plain data, the same for the engine alone and for a whole control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Manifest = dict[str, Any]

SCHEDULER_NAME = "bench"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ZONES = ("zone-a", "zone-b", "zone-c")
WORKLOADS = 20
"""Placed pods belong to this many workloads, each a template of its own."""


def node(index: int) -> Manifest:
    """Return one of many equal nodes, in the zones in turn."""
    name = f"node-{index:05d}"
    resources = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "200Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: ZONES[index % len(ZONES)]}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def placed_pods(nodes: int, pods_a_node: int) -> Iterator[Manifest]:
    """Yield the pods that are in place before anything is measured."""
    for number in range(nodes * pods_a_node):
        workload = f"workload-{number % WORKLOADS}"
        pod = _pod(f"placed-{number:06d}", workload, {"cpu": "100m", "memory": "200Mi"})
        pod["spec"]["nodeName"] = f"node-{number % nodes:05d}"
        pod["status"] = {"phase": "Running"}
        yield pod


def plain(number: int) -> Manifest:
    """Return a pod that only asks for resources."""
    return _pod(f"pod-{number:06d}", "plain", {"cpu": "100m", "memory": "200Mi"})


def zone_spread(number: int) -> Manifest:
    """Return a pod that spreads over zones, as a hard rule."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector("spread"),
    }
    return _with(_pod(f"pod-{number:06d}", "spread", {"cpu": "100m"}), topologySpreadConstraints=[constraint])


def anti_affinity(number: int) -> Manifest:
    """Return a pod that refuses nodes with one of its kind."""
    term = {"topologyKey": HOSTNAME, "labelSelector": _selector("apart")}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return _with(_pod(f"pod-{number:06d}", "apart", {"cpu": "100m"}), affinity=affinity)


def preferred_affinity(number: int) -> Manifest:
    """Return a pod that likes zones with pods of another workload."""
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
"""What is measured, by the name that the table shows."""


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
