"""The rules of creations and updates that differ between kinds. `object_registry.py` holds the common rules.

Upstream: the Strategy types in pkg/registry/*/*/strategy.go.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.kinds.budgets import budget_errors
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.crd_validation import definition_errors
from moorage.sandbox.kinds.custom_resources import default_definition
from moorage.sandbox.kinds.event_versions import modern_errors
from moorage.sandbox.kinds.pod_defaults import admit_pod, default_pod
from moorage.sandbox.kinds.pod_state import initial_status, remove_gated_condition
from moorage.sandbox.kinds.pod_validation import pod_errors, pod_update_errors
from moorage.sandbox.kinds.resource_types import PRIORITY_CLASSES, ResourceType
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.objects import Object, copy, metadata, timestamp
from moorage.sandbox.storage.store import Store

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LIMIT = 253
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
_LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_PATH_NAMED_GROUPS = frozenset({"rbac.authorization.k8s.io"})
_WITH_GENERATION = frozenset(
    {
        "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "PodDisruptionBudget",
        "ReplicationController", "CustomResourceDefinition", "PriorityClass", "DeviceClass", "ResourceSlice",
    }
)  # fmt: skip
_INITIAL_STATUS: dict[str, Object | None] = {
    "Namespace": {"phase": "Active"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "PersistentVolume": {"phase": "Pending"},
}
_KEEPS_STATUS = frozenset({"Node"})
"""Kinds whose status a client may set when it creates an object."""


@dataclass(frozen=True, slots=True)
class Strategies:
    """The rules of every kind. Objects are in the stored version, and the methods change them in place."""

    store: Store
    schemas: Schemas
    rules: CelRules
    now: Callable[[], datetime]

    def default(self, resource: ResourceType, obj: Object) -> None:
        """Set the defaults of a kind. The writer of the object becomes the owner of the defaulted fields."""
        if resource.custom is not None:
            resource.custom.default(obj)
            return
        schema = self.schemas.builtin(resource.group, resource.version, resource.kind)
        if schema is not None and "spec" in schema.properties:
            obj.setdefault("spec", {})  # in Go, the spec is a struct and never absent
        match resource.kind:
            case "Pod":
                default_pod(obj)
            case "Node":
                _default_node(obj)
            case "CustomResourceDefinition":
                default_definition(obj)
            case "PriorityClass":
                obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
            case "StorageClass":
                obj.setdefault("reclaimPolicy", "Delete")
                obj.setdefault("volumeBindingMode", "Immediate")
            case "PersistentVolumeClaim" | "PersistentVolume":
                obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    @staticmethod
    def resets_status(resource: ResourceType) -> bool:
        """Return whether a creation drops the client's status."""
        return resource.has_status and resource.kind not in _KEEPS_STATUS

    def prepare_create(self, resource: ResourceType, obj: Object) -> None:
        """Run admission on a new object with its defaults, and reset the fields that a client cannot set."""
        if resource.custom is not None:
            if resource.has_status:
                obj.pop("status", None)
            resource.custom.default(obj)
        elif self.resets_status(resource):
            obj["status"] = copy(_INITIAL_STATUS.get(resource.kind) or {})
        if resource.kind == "Pod":
            admit_pod(obj, [record.obj for record in self.store.records(PRIORITY_CLASSES)])
            obj["status"] = initial_status(obj)
        elif resource.kind == "Namespace":
            obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            _labels(obj)["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
        if resource.custom is not None or resource.kind in _WITH_GENERATION:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, resource: ResourceType, new: Object, old: Object) -> None:
        """Keep the old status, set defaults, and increment the generation if the spec changes.

        Only the status subresource changes the status.
        """
        if resource.has_status:
            _copy_field(new, old, "status")
        self.default(resource, new)
        if resource.kind == "Pod":
            remove_gated_condition(new, old)
        if "generation" in old["metadata"]:
            changed = _desired_fields(new) != _desired_fields(old)
            new["metadata"]["generation"] = old["metadata"]["generation"] + int(changed)

    def prepare_status_update(self, resource: ResourceType, new: Object, old: Object) -> None:
        """Keep the old object except for its status. A built-in kind also gets the new labels and annotations."""
        status = new.get("status")
        meta = new["metadata"]
        new.clear()
        new.update(old)
        new["metadata"] = dict(old["metadata"])
        if resource.custom is None:
            for name in ("labels", "annotations"):
                _copy_field(new["metadata"], meta, name)
        _copy_field(new, {"status": status}, "status")
        if resource.custom is not None:
            resource.custom.default(new)

    def errors(self, resource: ResourceType, obj: Object, old: Object | None) -> Iterator[FieldError]:
        """Yield all validation errors. `old` is None for a new object."""
        yield from _metadata_errors(resource, obj)
        if resource.custom is not None:
            yield from resource.custom.errors(obj, old)
        elif resource.kind == "Pod":
            yield from pod_errors(obj) if old is None else pod_update_errors(obj, old)
        elif resource.kind == "PodDisruptionBudget":
            yield from budget_errors(obj)
        elif resource.kind == "CustomResourceDefinition":
            yield from definition_errors(obj, self.schemas, self.rules)
        elif resource.group == "events.k8s.io" and old is None:
            yield from modern_errors(obj)

    def stamp(self) -> str:
        """Return the current time as a metav1.Time."""
        return timestamp(self.now())


def _desired_fields(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name not in {"metadata", "status"}}


def _copy_field(new: Object, old: Object, name: str) -> None:
    if old.get(name) is None:
        new.pop(name, None)
    else:
        new[name] = old[name]


def _labels(obj: Object) -> Object:
    labels: Object = obj["metadata"].setdefault("labels", {})
    return labels


def _default_node(node: Object) -> None:
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _metadata_errors(resource: ResourceType, obj: Object) -> Iterator[FieldError]:
    meta = metadata(obj)
    name = meta.get("name") or ""
    if resource.group not in _PATH_NAMED_GROUPS and not (_SUBDOMAIN.fullmatch(name) and len(name) <= _SUBDOMAIN_LIMIT):
        yield FieldError("metadata.name", "FieldValueInvalid", name, _SUBDOMAIN_RULE)
    for value in (meta.get("labels") or {}).values():
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            yield FieldError("metadata.labels", "FieldValueInvalid", value, _LABEL_RULE)
