"""Completes objects of files with the fields that the API server, its controllers and the kubelet add."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
POD = "Pod"

Json = dict[str, Any]


def complete_pods(pods: Sequence[Json], cluster: Sequence[Json]) -> None:
    """Complete pods. Their priorities come from the priority classes in `cluster`."""
    priorities = SYSTEM_PRIORITIES | {
        body["metadata"]["name"]: body.get("value", 0) for body in cluster if body.get("kind") == "PriorityClass"
    }
    for pod in pods:
        _complete_pod(pod, priorities)


def complete_cluster(cluster: MutableSequence[Json], pods: Sequence[Json]) -> None:
    """Complete the objects of a cluster, and add missing namespaces of the pods."""
    known = {body["metadata"]["name"] for body in cluster if body.get("kind") == "Namespace"}
    for name in sorted({pod["metadata"]["namespace"] for pod in pods} - known):
        cluster.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for body in cluster:
        _complete_object(body)


def _complete_pod(pod: Json, priorities: Mapping[str, int]) -> None:
    """Add what admission and the kubelet add: the namespace, a uid, the priority, the phase."""
    metadata, spec = pod.setdefault("metadata", {}), pod.setdefault("spec", {})
    metadata.setdefault("namespace", "default")
    metadata.setdefault("uid", f"{metadata['namespace']}/{metadata.get('name')}")
    if spec.get("priorityClassName") in priorities:
        spec.setdefault("priority", priorities[spec["priorityClassName"]])
    pod.setdefault("status", {}).setdefault("phase", "Running" if spec.get("nodeName") else "Pending")


def _complete_object(body: Json) -> None:
    metadata = body.setdefault("metadata", {})
    match body.get("kind"):
        case "Namespace":
            metadata.setdefault("labels", {}).setdefault("kubernetes.io/metadata.name", metadata["name"])
        case "PersistentVolume":
            phase = "Bound" if (body.get("spec") or {}).get("claimRef") else "Available"
            body.setdefault("status", {}).setdefault("phase", phase)
        case "PersistentVolumeClaim":
            body.setdefault("status", {}).setdefault("phase", "Pending")
