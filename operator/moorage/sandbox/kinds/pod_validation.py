"""Validation of new and changed pods: the most important of kube-apiserver's checks.

Upstream: pkg/apis/core/validation/validation.go.
"""

import re
from collections.abc import Iterator
from typing import Any

from moorage.model.quantity import nano_value
from moorage.sandbox.api_status import FieldError
from moorage.sandbox.objects import Object

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates", "resources")
_UPDATE_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_errors(pod: Object) -> Iterator[FieldError]:
    """Yield the errors of a new pod."""
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
        yield from _toleration_errors(toleration, f"spec.tolerations[{index}].operator")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        detail = "cannot be set until all schedulingGates have been cleared"
        yield FieldError("spec.nodeName", "FieldValueForbidden", detail=detail)


def pod_update_errors(new: Object, old: Object) -> Iterator[FieldError]:
    """Yield an error for each change of a pod's spec that is not allowed."""
    before, after = _immutable_part(old["spec"]), _immutable_part(new["spec"])
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


def _toleration_errors(toleration: Object, path: str) -> Iterator[FieldError]:
    if toleration.get("operator") == "Exists" and toleration.get("value"):
        yield FieldError(path, "FieldValueInvalid", "Exists", "value must be empty when `operator` is 'Exists'")
    if not toleration.get("key") and toleration.get("operator") != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield FieldError(path, "FieldValueInvalid", toleration.get("operator", ""), detail)


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


def _immutable_part(spec: Object) -> Object:
    kept = {name: value for name, value in spec.items() if name not in _MUTABLE}
    for field in ("containers", "initContainers"):
        if kept.get(field):
            kept[field] = [{name: item for name, item in c.items() if name != "image"} for c in kept[field]]
    return kept
