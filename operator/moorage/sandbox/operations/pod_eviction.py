"""The eviction subresource of pods, which deletes a pod if its disruption budget allows that.

Upstream: pkg/registry/core/pod/storage/eviction.go.
"""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from moorage.sandbox.api_status import StatusError, bad_request, success, too_many_requests
from moorage.sandbox.kinds.pod_state import is_ready, is_terminal, with_condition
from moorage.sandbox.kinds.resource_types import DISRUPTION_BUDGETS, PODS
from moorage.sandbox.objects import Object, copy, dig, metadata
from moorage.sandbox.operations.decoding import check_is_object, check_types
from moorage.sandbox.operations.deletion import check_preconditions, delete
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.request_options import DeleteOptions
from moorage.sandbox.operations.selector_syntax import matches_selector
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Record

_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_RETRY_SECONDS = 10  # upstream's Retry-After if the disruption controller has not yet counted the pods


def evict(registry: ObjectRegistry, target: Target, body: Any) -> Object:
    """Delete a pod with the options of an Eviction. Raises a 429 if the pod's disruption budget does not allow that."""
    eviction = check_is_object(body)
    check_types(
        eviction, registry.schemas.builtin("policy", "v1", "Eviction"), "the body cannot be handled as an Eviction"
    )
    if metadata(eviction).get("name") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = DeleteOptions.of(eviction.get("deleteOptions"), {})
    record = registry.get(target)
    check_preconditions(target, record, options)
    pod = record.obj
    budgets = [] if _ignores_budgets(pod) else _budgets_of(registry, pod)
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message)
    if budgets and not _can_evict_unhealthy(budgets[0].obj, pod):
        _decrement_allowed(registry, budgets[0], target.name, dry_run=options.dry_run)
    if not options.dry_run:
        registry.store.update(PODS, _disrupted_pod(registry, pod), record)
    delete(registry, target, replace(options, resource_version=""))
    return success()


def _ignores_budgets(pod: Object) -> bool:
    is_pending = dig(pod, "status", "phase") == "Pending"
    return is_terminal(pod) or is_pending or bool(pod["metadata"].get("deletionTimestamp"))


def _budgets_of(registry: ObjectRegistry, pod: Object) -> list[Record]:
    labels = pod["metadata"].get("labels") or {}
    records = registry.store.records(DISRUPTION_BUDGETS, pod["metadata"]["namespace"])
    selectors = [(record, record.obj["spec"].get("selector")) for record in records]
    return [record for record, selector in selectors if selector is not None and matches_selector(selector, labels)]


def _can_evict_unhealthy(budget: Object, pod: Object) -> bool:
    """Return whether the pod is not ready and may be evicted without a decrement of the allowed disruptions."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _decrement_allowed(registry: ObjectRegistry, record: Record, pod_name: str, *, dry_run: bool) -> None:
    """Decrement the allowed disruptions. Raises a 429 if none is left, or if the budget's status is out of date."""
    budget = record.obj
    status = budget.get("status") or {}
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violation(f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS)
    if status.get("disruptionsAllowed", 0) <= 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _violation(f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")
    if dry_run:
        return
    new = copy(budget)
    new["status"]["disruptionsAllowed"] -= 1
    new["status"].setdefault("disruptedPods", {})[pod_name] = registry.strategies.stamp()
    registry.store.update(DISRUPTION_BUDGETS, new, record)


def _violation(cause: str, retry_after_seconds: int = 0) -> StatusError:
    error = too_many_requests(_VIOLATION, retry_after_seconds)
    error.details = {**(error.details or {}), "causes": [{"reason": "DisruptionBudget", "message": cause}]}
    return error


def _disrupted_pod(registry: ObjectRegistry, pod: Object) -> Object:
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastProbeTime": None, "lastTransitionTime": registry.strategies.stamp(),
    }  # fmt: skip
    return pod | {"metadata": dict(pod["metadata"]), "status": with_condition(pod.get("status") or {}, condition)}
