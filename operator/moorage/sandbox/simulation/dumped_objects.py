"""Fills a cluster with the unchanged objects of a dump: without admission, with the same uids and creation times.

A dump has only the fields that scheduling reads. This module adds the fields that the kubelet, the disruption
controller and kubectl need.
"""

from moorage.inventory import KINDS, Inventory
from moorage.sandbox.kinds.pod_defaults import default_pod
from moorage.sandbox.kinds.pod_state import is_ready, is_terminal
from moorage.sandbox.kinds.resource_types import DISRUPTION_BUDGETS, PODS
from moorage.sandbox.objects import Object, key_of, metadata
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.selector_syntax import matches_selector
from moorage.sandbox.simulation.node_groups import ready_conditions


def create_dumped_objects(registry: ObjectRegistry, inventory: Inventory) -> None:
    """Create all objects of an inventory. Replace an object that exists already, such as the namespace `default`."""
    now = registry.strategies.stamp()
    for kind in KINDS:
        for obj in inventory.bodies(kind):
            _complete(obj, now)
            _store(registry, obj)
    _set_budgets(registry)


def _store(registry: ObjectRegistry, obj: Object) -> None:
    resource = registry.resources.of_kind(KINDS[obj["kind"]].api_version, obj["kind"])
    assert resource is not None
    if resource.custom is not None:
        resource.custom.default(obj)
    older = registry.store.get(resource.collection, key_of(obj))
    if older is None:
        registry.store.create(resource.collection, obj)
    else:
        registry.store.update(resource.collection, obj, older)


def _complete(obj: Object, now: str) -> None:
    """Add the fields that a dump leaves out."""
    obj["metadata"].setdefault("creationTimestamp", now)
    match obj["kind"]:
        case "Node":
            status = obj.setdefault("status", {})
            obj.setdefault("spec", {})
            status |= {"capacity": dict(status.get("allocatable") or {}), "conditions": ready_conditions(now)}
        case "Namespace":
            obj["status"] = {"phase": "Active"}
        case "Pod":
            default_pod(obj)
            _complete_pod_status(obj, now)
        case "PersistentVolumeClaim" | "PersistentVolume":
            obj.setdefault("status", {}).setdefault("phase", "Pending")


def _complete_pod_status(pod: Object, now: str) -> None:
    status = pod.setdefault("status", {})
    status.setdefault("phase", "Running" if pod["spec"].get("nodeName") else "Pending")
    if status["phase"] == "Running":
        kept = [each for each in status.get("conditions") or () if each.get("type") != "Ready"]
        status["conditions"] = [*kept, {"type": "Ready", "status": "True", "lastTransitionTime": now}]
        known = {each.get("name"): each for each in status.get("containerStatuses") or ()}
        status["containerStatuses"] = [
            {
                "name": container["name"], "image": container.get("image", ""), "imageID": "", "ready": True,
                "started": True, "restartCount": 0, "state": {"running": {"startedAt": now}}, "lastState": {},
                **known.get(container["name"], {}),
            }
            for container in pod["spec"].get("containers") or ()
        ]  # fmt: skip


def _set_budgets(registry: ObjectRegistry) -> None:
    """Give each budget the minAvailable that leaves as many disruptions as the dump shows.

    A dump contains the allowed disruptions, but not minAvailable. The sandbox computes the allowed disruptions again.
    """
    for record in registry.store.records(DISRUPTION_BUDGETS):
        budget = dict(record.obj)
        allowed = (budget.get("status") or {}).get("disruptionsAllowed", 0)
        selector = (budget.get("spec") or {}).get("selector")
        healthy = 0
        for pod in registry.store.records(PODS, budget["metadata"]["namespace"]):
            labels = metadata(pod.obj).get("labels") or {}
            matches = selector is not None and matches_selector(selector, labels)
            healthy += matches and is_ready(pod.obj) and not is_terminal(pod.obj)
        budget["metadata"] = dict(budget["metadata"])
        budget["spec"] = {**(budget.get("spec") or {}), "minAvailable": max(healthy - allowed, 0)}
        registry.store.update(DISRUPTION_BUDGETS, budget, record)
