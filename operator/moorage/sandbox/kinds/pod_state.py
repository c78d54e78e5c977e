"""Pod status: its initial value, its conditions, and the quality of service class."""

from typing import Any

from moorage.model.quantity import nano_value
from moorage.sandbox.kinds.pod_defaults import all_containers
from moorage.sandbox.objects import Object, dig, find_condition

_GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"


def initial_status(pod: Object) -> Object:
    """Return the status of a new pod."""
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod)}
    if pod["spec"].get("schedulingGates"):
        condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": _GATED_MESSAGE}
        times = {"lastProbeTime": None, "lastTransitionTime": None}
        status["conditions"] = [condition | times]
    return status


def remove_gated_condition(new: Object, old: Object) -> None:
    """Remove the SchedulingGated condition if an update removes the last scheduling gate, in place."""
    if old["spec"].get("schedulingGates") and not new["spec"].get("schedulingGates"):
        gated = find_condition(new, "PodScheduled")
        if gated is not None and gated.get("reason") == "SchedulingGated":
            rest = [item for item in new["status"]["conditions"] if item is not gated]
            new["status"] = {name: value for name, value in new["status"].items() if name != "conditions"}
            if rest:
                new["status"]["conditions"] = rest


def qos_class(pod: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort, from the cpu and memory of all containers."""
    guaranteed, has_amounts = True, False
    for container in all_containers(pod):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = _amount(requests.get(name)), _amount(limits.get(name))
            has_amounts = has_amounts or bool(request or limit)
            guaranteed = guaranteed and bool(limit) and request == limit
    if not has_amounts:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def with_condition(status: Object, condition: Object) -> Object:
    """Return the status with `condition` added, and without an older condition of the same type."""
    others = [item for item in status.get("conditions") or () if item.get("type") != condition["type"]]
    return status | {"conditions": [*others, condition]}


def is_ready(pod: Object) -> bool:
    """Return whether the pod's Ready condition is True."""
    return (find_condition(pod, "Ready") or {}).get("status") == "True"


def is_terminal(pod: Object) -> bool:
    """Return whether the pod has ended: Succeeded or Failed."""
    return dig(pod, "status", "phase") in {"Succeeded", "Failed"}


def _amount(quantity: Any) -> int:
    return 0 if quantity is None else nano_value(quantity)
