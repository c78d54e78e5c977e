"""What can be done to a pod besides writing it: binding it to a node, and evicting it."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from moorage.sandbox.http.decoding import check_types
from moorage.sandbox.http.targets import Target
from moorage.sandbox.kinds import pods
from moorage.sandbox.objects import Object, copy, dig, metadata
from moorage.sandbox.status import (
    ApiError,
    FieldError,
    bad_request,
    conflict,
    not_found,
    success,
    too_many_requests,
)
from moorage.sandbox.storage.deletion import DeleteOptions, check_preconditions, delete
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.selectors import matches_selector
from moorage.sandbox.storage.store import Record

PODS = "pods."
BUDGETS = "poddisruptionbudgets.policy"
TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."


def bind(registry: Registry, target: Target, binding: Any, *, dry_run: bool = False) -> Object:
    """Assign a pod to a node; raises 404 for a pod that is gone and 409 for one that cannot be assigned."""
    _check_kind(registry, binding, "", "Binding")
    node = _target_node(target, binding)
    record = registry.store.get(PODS, target.key)
    if record is None:
        raise not_found("pods", "", target.name)
    _check_binding(target, record, metadata(binding))
    if not dry_run:
        registry.store.update(PODS, _bound(registry, record.obj, binding, node), record)
    return success()


def _check_kind(registry: Registry, body: Any, group: str, kind: str) -> None:
    if not isinstance(body, dict):
        raise bad_request(f"the body is no {kind}")
    check_types(body, registry.schemas.builtin(group, "v1", kind), f"it cannot be handled as a {kind}")


def _target_node(target: Target, binding: Any) -> str:
    named = metadata(binding).get("name")
    if named and named != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    kind, node = dig(binding, "target", "kind"), dig(binding, "target", "name")
    errors = []
    if kind not in {None, "", "Node"}:
        errors.append(FieldError("target.kind", "FieldValueNotSupported", kind, 'supported values: "Node"'))
    if not node:
        errors.append(FieldError("target.name", "FieldValueRequired"))
    if errors:  # upstream returns these faults as they are, hence the odd code
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "", ", ".join(map(str, errors)))
    return str(node)


def _check_binding(target: Target, record: Record, meta: Object) -> None:
    pod, name = record.obj, target.name
    uid = pod["metadata"]["uid"]
    why = ""
    if meta.get("uid") and meta["uid"] != uid:
        why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {uid}"
    elif meta.get("resourceVersion") and meta["resourceVersion"] != str(record.revision):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {meta['resourceVersion']}, "
            f"ResourceVersion in object meta: {record.revision}"
        )
    elif pod["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise conflict("pods/binding", "", name, why)


def _bound(registry: Registry, pod: Object, binding: Object, node_name: str) -> Object:
    """Build the bound pod, sharing what does not change."""
    meta = dict(pod["metadata"])
    annotations = metadata(binding).get("annotations")
    if annotations:
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
    labels = _topology_labels(registry, node_name) | (metadata(binding).get("labels") or {})
    if labels:
        meta["labels"] = {**(meta.get("labels") or {}), **labels}
    status = {name: value for name, value in pod["status"].items() if name != "nominatedNodeName"}
    scheduled = {
        "type": "PodScheduled", "status": "True", "lastProbeTime": None,
        "lastTransitionTime": registry.strategies.stamp(),
    }  # fmt: skip
    others = [item for item in status.get("conditions") or () if item.get("type") != "PodScheduled"]
    status["conditions"] = [*others, scheduled]
    return pod | {"metadata": meta, "spec": {**pod["spec"], "nodeName": node_name}, "status": status}


def _topology_labels(registry: Registry, node_name: str) -> Object:
    node = registry.store.get("nodes.", ("", node_name))
    labels = metadata(node.obj).get("labels") or {} if node else {}
    return {name: labels[name] for name in TOPOLOGY_LABELS if name in labels}


def evict(registry: Registry, target: Target, eviction: Any) -> Object:
    """Delete a pod if its disruption budget allows; raises 429 if not."""
    _check_kind(registry, eviction, "policy", "Eviction")
    if metadata(eviction).get("name") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = DeleteOptions.of(eviction.get("deleteOptions"), {})
    record = registry.store.get(PODS, target.key)
    if record is None:
        raise not_found("pods", "", target.name)
    check_preconditions(target, record, options)
    pod = record.obj
    budgets = [] if _ignores_budgets(pod) else _budgets_of(registry, pod)
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message)
    if budgets and not _unhealthy_may_go(budgets[0].obj, pod):
        _spend(registry, budgets[0], target.name, dry_run=options.dry_run)
    if not options.dry_run:
        registry.store.update(PODS, _disrupted(registry, pod), record)
    delete(registry, target, replace(options, resource_version=""))
    return success()


def _disrupted(registry: Registry, pod: Object) -> Object:
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastProbeTime": None, "lastTransitionTime": registry.strategies.stamp(),
    }  # fmt: skip
    status = pod.get("status") or {}
    others = [item for item in status.get("conditions") or () if item.get("type") != "DisruptionTarget"]
    return pod | {"metadata": dict(pod["metadata"]), "status": {**status, "conditions": [*others, condition]}}


def _ignores_budgets(pod: Object) -> bool:
    pending = dig(pod, "status", "phase") == "Pending"
    return pods.is_terminal(pod) or pending or bool(pod["metadata"].get("deletionTimestamp"))


def _budgets_of(registry: Registry, pod: Object) -> list[Record]:
    labels = pod["metadata"].get("labels") or {}
    records = registry.store.records(BUDGETS, pod["metadata"]["namespace"])
    selectors = [(record, record.obj["spec"].get("selector")) for record in records]
    return [record for record, selector in selectors if selector is not None and matches_selector(selector, labels)]


def _unhealthy_may_go(budget: Object, pod: Object) -> bool:
    if pods.is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _spend(registry: Registry, record: Record, pod_name: str, *, dry_run: bool) -> None:
    """Take one disruption off the budget; raises 429 if none is left or the budget is not yet counted."""
    budget = record.obj
    status = budget.get("status") or {}
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violation(f"The disruption budget {name} is still being processed by the server.", 10)
    if status.get("disruptionsAllowed", 0) <= 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _violation(f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")
    if dry_run:
        return
    new = copy(budget)
    new["status"]["disruptionsAllowed"] -= 1
    new["status"].setdefault("disruptedPods", {})[pod_name] = registry.strategies.stamp()
    registry.store.update(BUDGETS, new, record)


def _violation(cause: str, retry_after_seconds: int = 0) -> ApiError:
    error = too_many_requests(_VIOLATION, retry_after_seconds)
    error.details = {**(error.details or {}), "causes": [{"reason": "DisruptionBudget", "message": cause}]}
    return error
