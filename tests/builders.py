"""Builds Kubernetes objects for tests: as the API server's dicts, or decoded as the informers decode them.

    pod(cpu="1", memory="1Gi", labels={"app": "web"}, node="n1")     a decoded Pod
    pod_object(...)                                                  the same as a dict
    node("n1", cpu="4", memory="16Gi", labels={...})                 a decoded Node
    snapshot_of([node(...), ...], [pod(...), ...])                   a Snapshot of both

One Decoder decodes all of them, so that equal pods share a shape as they do in the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.snapshot import Snapshot
from moorage.model.decode import Decoder
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

Object = dict[str, Any]

DECODER = Decoder()

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def pod_object(
    name: str = "p",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    node: str = "",
    requests: Mapping[str, str] | None = None,
    cpu: str = "",
    memory: str = "",
    containers: Sequence[Object] | None = None,
    image: str = "app:1",
    host_ports: Sequence[int] = (),
    tolerations: Sequence[Object] = (),
    affinity: Object | None = None,
    spread: Sequence[Object] = (),
    priority: int = 0,
    owner: Object | None = None,
    terminating: bool = False,
    phase: str = "",
    spec: Object | None = None,
    status: Object | None = None,
    metadata: Object | None = None,
) -> Object:
    """Return a pod as a dict. The parameters `spec`, `status` and `metadata` add or replace other fields."""
    amounts = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(requests or {})}
    container: Object = {"name": "c0", "image": image}
    if amounts:
        container["resources"] = {"requests": amounts}
    if host_ports:
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in host_ports]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            **({"labels": dict(labels)} if labels else {}),
            **({"ownerReferences": [owner]} if owner else {}),
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {}),
            **(metadata or {}),
        },
        "spec": {
            "containers": list(containers) if containers is not None else [container],
            **({"nodeName": node} if node else {}),
            **({"tolerations": list(tolerations)} if tolerations else {}),
            **({"affinity": affinity} if affinity else {}),
            **({"topologySpreadConstraints": list(spread)} if spread else {}),
            **({"priority": priority} if priority else {}),
            **(spec or {}),
        },
        "status": {**({"phase": phase} if phase else {}), **(status or {})},
    }


def pod(name: str = "p", **fields: Any) -> Pod:
    """Return a decoded pod; for the parameters see `pod_object`."""
    return make_pod(pod_object(name, **fields))


def make_pod(body: Object) -> Pod:
    """Decode a pod's dict."""
    made: Pod = DECODER.decode_object("Pod", body)
    return made


def node_object(
    name: str = "n",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    zone: str = "",
    taints: Sequence[Object] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
    metadata: Object | None = None,
) -> Object:
    """Return a node as a dict, with its hostname label; `allocatable` adds resources or replaces the other amounts."""
    own = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": own, **(metadata or {})},
        "spec": {
            **({"taints": list(taints)} if taints else {}),
            **({"unschedulable": True} if unschedulable else {}),
        },
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})},
            **({"images": [{"names": [image], "sizeBytes": size} for image, size in images.items()]} if images else {}),
            **({"declaredFeatures": list(features)} if features else {}),
        },
    }


def node(name: str = "n", **fields: Any) -> Node:
    """Return a decoded node; for the parameters see `node_object`."""
    return make_node(node_object(name, **fields))


def make_node(body: Object) -> Node:
    """Decode a node's dict."""
    made: Node = DECODER.decode_object("Node", body)
    return made


def make(kind: str, body: Object) -> Any:
    """Decode an object of any kind."""
    return DECODER.decode_object(kind, body)


def columns_of(
    nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), *, namespaces: Mapping[str, Mapping[str, str]] | None = None
) -> NodeColumns:
    """Return columns with the nodes, and with each pod on its `node_name`."""
    columns = NodeColumns()
    for each in nodes:
        columns.set_node(each)
    for name, labels in (namespaces or {}).items():
        columns.objects.set_namespace(name, labels)
    for placed in pods:
        columns.add_pod(placed, placed.node_name)
    return columns


def snapshot_of(
    nodes: Iterable[Node] = (),
    pods: Iterable[Pod] = (),
    *,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    objects: Mapping[str, Iterable[Object]] | None = None,
) -> Snapshot:
    """Return a snapshot; `objects` are dicts by kind, such as `{"Service": [...]}`."""
    columns = columns_of(nodes, pods, namespaces=namespaces)
    for kind, bodies in (objects or {}).items():
        for body in bodies:
            metadata = body["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
            columns.objects.set(kind, key, make(kind, body))
    return Snapshot(columns)
