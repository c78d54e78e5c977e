"""Builds storage objects for tests, as the API server's dicts, and a snapshot of them.

storage_snapshot([node("a")], [], claim("data", volume="pv"), volume("pv", claim="data"))
mounting("p", "data")        a decoded pod that mounts the claim
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from builders import Object, pod, snapshot_of
from moorage.cluster.snapshot import Snapshot
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

DRIVER = "csi.example.com"


def claim(
    name: str = "data",
    *,
    volume: str = "",
    size: str = "1Gi",
    storage_class: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    annotations: Object | None = None,
    phase: str = "",
    **more: Any,
) -> Object:
    """Return a claim; with `volume` it is fully bound to that volume."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"claim-{name}",
            "resourceVersion": "1",
            "annotations": {**bound, **(annotations or {})},
            **more.pop("metadata", {}),
        },
        "spec": {
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
            **({"storageClassName": storage_class} if storage_class else {}),
            **more,
        },
        "status": {"phase": phase},
    }


def volume(
    name: str = "pv",
    *,
    size: str = "1Gi",
    storage_class: str = "",
    nodes: Iterable[str] = (),
    kept_for: str = "",
    labels: Object | None = None,
    handle: str = "",
    phase: str = "Available",
    **more: Any,
) -> Object:
    """Return a volume; only the hosts in `nodes` can use it, and its claimRef names the claim `kept_for`."""
    hosts = [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": hosts}]}}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name, "resourceVersion": "1", "labels": labels or {}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            **({"nodeAffinity": affinity} if nodes else {}),
            **({"claimRef": {"namespace": "default", "name": kept_for}} if kept_for else {}),
            **({"csi": {"driver": DRIVER, "volumeHandle": handle}} if handle else {}),
            **more,
        },
        "status": {"phase": phase},
    }


def storage_class(name: str = "late", *, mode: str | None = "WaitForFirstConsumer", **more: Any) -> Object:
    """Return a storage class, by default with WaitForFirstConsumer."""
    provisioner = more.pop("provisioner", DRIVER)
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        **({"volumeBindingMode": mode} if mode else {}),
        **more,
    }


def csi_node(name: str, **limits: int) -> Object:
    """Return a CSINode with a limit for each driver; write underscores for the dots in a driver's name."""
    drivers = [{"name": driver.replace("_", "."), "allocatable": {"count": count}} for driver, count in limits.items()]
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def mounting(name: str, *claims: str, **fields: Any) -> Pod:
    """Return a pod that mounts claims."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, spec={"volumes": volumes}, **fields)


def storage_snapshot(nodes: Iterable[Node], pods: Iterable[Pod], *objects: Object) -> Snapshot:
    """Return a snapshot with nodes, pods and objects of any kinds."""
    by_kind: dict[str, list[Object]] = {}
    for each in objects:
        by_kind.setdefault(each["kind"], []).append(each)
    return snapshot_of(nodes, pods, objects=by_kind)
