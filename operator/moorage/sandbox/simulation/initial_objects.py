"""The initial objects of a cluster: namespaces, system priority classes, custom kinds and nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.sandbox.objects import Object
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.request_options import WriteOptions
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.simulation.node_groups import NodeGroup, ready_conditions

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def create_initial_objects(
    registry: ObjectRegistry, node_groups: Sequence[NodeGroup], crds: Sequence[Mapping[str, Any]]
) -> None:
    """Create the initial objects. Raises StatusError for an invalid CustomResourceDefinition."""
    for name in _NAMESPACES:
        _create(registry, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, priority in _PRIORITY_CLASSES.items():
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        _create(registry, {**kind, "metadata": {"name": name}, "value": priority})
    for crd in crds:
        _create(registry, dict(crd))
    for group in node_groups:
        for node in group.nodes():
            node["status"]["conditions"] = ready_conditions(registry.strategies.stamp())
            _create(registry, node)


def _create(registry: ObjectRegistry, obj: Object) -> None:
    resource = registry.resources.of_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    registry.create(Target(resource), obj, WriteOptions())
