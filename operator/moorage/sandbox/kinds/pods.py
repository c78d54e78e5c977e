"""What the API server makes of a pod: defaults, admission, quality of service, and its rules."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from moorage.model.quantity import nano_value
from moorage.sandbox.objects import Object, dig, find_condition, metadata
from moorage.sandbox.status import FieldError, forbidden
from moorage.sandbox.storage.store import Record

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_EVICTION_SECONDS = 300  # DefaultTolerationSeconds' default
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_POD_DEFAULTS = {
    "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler", "enableServiceLinks": True,
}  # fmt: skip
_CONTAINER_DEFAULTS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"
_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates", "resources")
_UPDATE_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def default_pod(pod: Object) -> None:
    """Fill in the fields of the spec that have defaults, in place."""
    spec = pod.setdefault("spec", {})
    for name, value in _POD_DEFAULTS.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    for container in all_containers(pod):
        _default_container(container, host_network=bool(spec.get("hostNetwork")))


def all_containers(pod: Object) -> list[Object]:
    """List init containers and containers."""
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _default_container(container: Object, *, host_network: bool) -> None:
    for name, value in _CONTAINER_DEFAULTS.items():
        container.setdefault(name, value)
    image = container.get("image") or ""
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    latest = "@" not in image and tag in {"", "latest"}
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")
    resources = container.setdefault("resources", {})
    if isinstance(resources.get("limits"), dict):
        resources["requests"] = resources["limits"] | (resources.get("requests") or {})


def admit_pod(pod: Object, priority_classes: Iterable[Record]) -> None:
    """Do what admission does to a new pod: priority and tolerations; raises a 403 for an unknown class."""
    _admit_priority(pod, [record.obj for record in priority_classes])
    tolerations = list(pod["spec"].get("tolerations") or ())
    for key in (NOT_READY, UNREACHABLE):
        if not any(_tolerates_eviction(toleration, key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTION_SECONDS}
            )
    pod["spec"]["tolerations"] = tolerations


def _tolerates_eviction(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in {"", key} and toleration.get("effect", "") in {"", "NoExecute"}


def _admit_priority(pod: Object, classes: list[Object]) -> None:
    spec = pod["spec"]
    wanted = spec.get("priorityClassName")
    if wanted:
        found = next((item for item in classes if item["metadata"]["name"] == wanted), None)
        if found is None:
            name = metadata(pod).get("name") or ""
            raise forbidden("pods", "", name, f"no PriorityClass with name {wanted} was found")
    else:
        found = next((item for item in classes if item.get("globalDefault")), None)
    value = found.get("value", 0) if found else 0
    if spec.get("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise forbidden("pods", "", metadata(pod).get("name") or "", why)
    spec["priority"] = value
    if found:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy") or "PreemptLowerPriority")


def initial_status(pod: Object) -> Object:
    """Write the status every new pod has."""
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod)}
    if pod["spec"].get("schedulingGates"):
        condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": _GATED_MESSAGE}
        times = {"lastProbeTime": None, "lastTransitionTime": None}
        status["conditions"] = [condition | times]
    return status


def open_gates(new: Object, old: Object) -> None:
    """Drop the SchedulingGated condition when the last gate goes, in place."""
    if old["spec"].get("schedulingGates") and not new["spec"].get("schedulingGates"):
        gated = find_condition(new, "PodScheduled")
        if gated is not None and gated.get("reason") == "SchedulingGated":
            rest = [item for item in new["status"]["conditions"] if item is not gated]
            new["status"] = {name: value for name, value in new["status"].items() if name != "conditions"}
            if rest:
                new["status"]["conditions"] = rest


def qos_class(pod: Object) -> str:
    """Guaranteed, Burstable or BestEffort, from cpu and memory of all containers."""
    guaranteed, anything = True, False
    for container in all_containers(pod):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = _amount(requests.get(name)), _amount(limits.get(name))
            anything = anything or bool(request or limit)
            guaranteed = guaranteed and bool(limit) and request == limit
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _amount(quantity: Any) -> int:
    return 0 if quantity is None else nano_value(quantity)


def pod_errors(pod: Object) -> Iterator[FieldError]:
    """Find what keeps a new pod out."""
    spec = pod["spec"]
    if not spec.get("containers"):
        yield FieldError("spec.containers", "FieldValueRequired")
    if spec["restartPolicy"] not in {"Always", "OnFailure", "Never"}:
        detail = 'supported values: "Always", "Never", "OnFailure"'
        yield FieldError("spec.restartPolicy", "FieldValueNotSupported", spec["restartPolicy"], detail)
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield from _container_errors(container, f"spec.{field}[{index}]", names)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        if toleration.get("operator") == "Exists" and toleration.get("value"):
            path = f"spec.tolerations[{index}].operator"
            yield FieldError(path, "FieldValueInvalid", "Exists", "value must be empty when `operator` is 'Exists'")
        if not toleration.get("key") and toleration.get("operator") != "Exists":
            path = f"spec.tolerations[{index}].operator"
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield FieldError(path, "FieldValueInvalid", toleration.get("operator", ""), detail)
    if spec.get("schedulingGates") and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield FieldError("spec.nodeName", "FieldValueForbidden", detail=detail)


def _container_errors(container: Object, path: str, names: set[str]) -> Iterator[FieldError]:
    name = container.get("name")
    if not name:
        yield FieldError(f"{path}.name", "FieldValueRequired")
    elif not _DNS_LABEL.fullmatch(name):
        yield FieldError(f"{path}.name", "FieldValueInvalid", name, _LABEL_RULE)
    elif name in names:
        yield FieldError(f"{path}.name", "FieldValueDuplicate", name)
    names.add(name or "")
    if not container.get("image"):
        yield FieldError(f"{path}.image", "FieldValueRequired")
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for resource, quantity in amounts.items():
            if nano_value(quantity) < 0:
                where = f"{path}.resources.{field}[{resource}]"
                yield FieldError(where, "FieldValueInvalid", str(quantity), "must be greater than or equal to 0")
    for resource, quantity in requests.items():
        yield from _request_errors(resource, quantity, limits, f"{path}.resources")


def _request_errors(resource: str, quantity: Any, limits: Object, path: str) -> Iterator[FieldError]:
    limit = limits.get(resource)
    extended = "/" in resource and not resource.startswith("kubernetes.io/")
    if limit is None:
        if extended:
            yield FieldError(
                f"{path}.limits", "FieldValueRequired", detail="Limit must be set for non overcommitable resources"
            )
    elif extended and nano_value(quantity) != nano_value(limit):
        detail = f"must be equal to {resource} limit of {limit}"
        yield FieldError(f"{path}.requests", "FieldValueInvalid", str(quantity), detail)
    elif nano_value(quantity) > nano_value(limit):
        detail = f"must be less than or equal to {resource} limit of {limit}"
        yield FieldError(f"{path}.requests", "FieldValueInvalid", str(quantity), detail)


def pod_update_errors(new: Object, old: Object) -> Iterator[FieldError]:
    """Find changes that a pod's spec does not allow."""
    before, after = _frozen(old["spec"]), _frozen(new["spec"])
    if old["spec"].get("schedulingGates"):
        for spec in (before, after):
            spec.pop("nodeSelector", None)
            spec.pop("affinity", None)
    if before != after:
        yield FieldError("spec", "FieldValueForbidden", detail=_UPDATE_RULE)
    gates = {gate.get("name") for gate in old["spec"].get("schedulingGates") or ()}
    for index, gate in enumerate(new["spec"].get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            path = f"spec.schedulingGates[{index}].name"
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield FieldError(path, "FieldValueForbidden", detail=detail)
    kept = new["spec"].get("tolerations") or []
    if any(toleration not in kept for toleration in old["spec"].get("tolerations") or ()):
        yield FieldError(
            "spec.tolerations",
            "FieldValueForbidden",
            detail="existing toleration can not be modified except its tolerationSeconds",
        )


def _frozen(spec: Object) -> Object:
    kept = {name: value for name, value in spec.items() if name not in _MUTABLE}
    for field in ("containers", "initContainers"):
        if kept.get(field):
            kept[field] = [{name: item for name, item in c.items() if name != "image"} for c in kept[field]]
    return kept


def is_ready(pod: Object) -> bool:
    """Whether the pod's Ready condition holds."""
    return (find_condition(pod, "Ready") or {}).get("status") == "True"


def is_terminal(pod: Object) -> bool:
    """Whether the pod has ended, well or badly."""
    return dig(pod, "status", "phase") in {"Succeeded", "Failed"}
