"""What is in a cluster from its first second: namespaces, system priority classes, nodes, custom kinds."""

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.sandbox.http.targets import Target, WriteOptions
from moorage.sandbox.objects import Object
from moorage.sandbox.simulation.nodes import NodeGroup, ready_conditions
from moorage.sandbox.storage.registry import Registry

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def seed(registry: Registry, node_groups: Sequence[NodeGroup], crds: Sequence[Mapping[str, Any]]) -> None:
    """Create all of it; raises ApiError for a custom kind that the API server would refuse."""
    for name in _NAMESPACES:
        _create(registry, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, priority in _PRIORITY_CLASSES.items():
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        _create(registry, {**kind, "metadata": {"name": name}, "value": priority})
    for crd in crds:
        _create(registry, dict(crd))
    for group in node_groups:
        for node in group.nodes():
            node["status"]["conditions"] = ready_conditions(registry.strategies)
            _create(registry, node)


def _create(registry: Registry, obj: Object) -> None:
    resource = registry.resources.of_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    registry.create(Target(resource), obj, WriteOptions())
