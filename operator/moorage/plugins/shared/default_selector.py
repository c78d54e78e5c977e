"""The selector of default spread constraints, made from the selectors of the pod's Services and controller.

Upstream: `pkg/scheduler/framework/plugins/helper/spread.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import Controller, Service

if TYPE_CHECKING:
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import PodShape

_API_VERSIONS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}

SELECTING_KINDS = ("Service", *_API_VERSIONS)
"""The kinds of objects that the selector depends on."""


def default_selector(shape: PodShape, snapshot: Snapshot) -> LabelSelector:
    """Return the combined selector of the pod's Services and controller; empty if the pod has neither."""
    labels: dict[str, str] = {}
    for service in snapshot.objects("Service").values():
        assert isinstance(service, Service)
        if service.namespace == shape.namespace and _selects(service, shape):
            labels.update(service.selector or {})
    requirements = _owner_requirements(shape, snapshot)
    if shape.owner and shape.owner.kind == "ReplicationController":
        labels.update((each.key, value) for each in requirements for value in each.values)
        requirements = ()
    equalities = (Requirement(key, "In", frozenset((value,))) for key, value in sorted(labels.items()))
    return LabelSelector(tuple(dict.fromkeys((*equalities, *requirements))))


def _selects(service: Service, shape: PodShape) -> bool:
    """Return whether the service selects the pod. A service without a selector selects no pod."""
    return bool(service.selector) and all(shape.labels.get(key) == value for key, value in service.selector.items())


def _owner_requirements(shape: PodShape, snapshot: Snapshot) -> tuple[Requirement, ...]:
    owner = shape.owner
    if owner is None or _API_VERSIONS.get(owner.kind) != owner.api_version:
        return ()
    controller = snapshot.objects(owner.kind).get(f"{shape.namespace}/{owner.name}")
    if not isinstance(controller, Controller) or controller.selector is None:
        return ()
    return controller.selector.requirements
