"""What is special about each kind when it is created or updated; registry.py does what all have in common."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from moorage.sandbox.kinds import events, pods
from moorage.sandbox.kinds.budgets import budget_errors
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.custom import default_definition, definition_errors
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.objects import Object, copy, dig, metadata, timestamp
from moorage.sandbox.status import FieldError
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
_COUNTED = frozenset(
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
"""Kinds whose status may come with their creation."""


@dataclass(frozen=True, slots=True)
class Strategies:
    """Prepares and checks objects of every kind. Objects are in their stored form and changed in place."""

    store: Store
    schemas: Schemas
    rules: CelRules
    now: Callable[[], datetime]

    def default(self, resource: ResourceType, obj: Object) -> None:
        """Fill in what a kind's fields are when nothing is said; the writer owns these fields."""
        if resource.custom is not None:
            resource.custom.default(obj)
            return
        schema = self.schemas.builtin(resource.group, resource.version, resource.kind)
        if schema is not None and "spec" in schema.properties:
            obj.setdefault("spec", {})  # in Go a struct that is always there
        match resource.kind:
            case "Pod":
                pods.default_pod(obj)
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
        """Whether a status that comes with a creation is dropped."""
        return resource.has_status and resource.kind not in _KEEPS_STATUS

    def prepare_create(self, resource: ResourceType, obj: Object) -> None:
        """Admit a defaulted object, and reset what a client may not set."""
        if resource.custom is not None:
            if resource.has_status:
                obj.pop("status", None)
            resource.custom.default(obj)
        elif self.resets_status(resource):
            obj["status"] = copy(_INITIAL_STATUS.get(resource.kind) or {})
        if resource.kind == "Pod":
            pods.admit_pod(obj, self.store.records("priorityclasses.scheduling.k8s.io"))
            obj["status"] = pods.initial_status(obj)
        elif resource.kind == "Namespace":
            obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            _labels(obj)["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
        if resource.custom is not None or resource.kind in _COUNTED:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, resource: ResourceType, new: Object, old: Object) -> None:
        """Keep the status, which only its subresource changes, and count a change of the spec."""
        if resource.has_status:
            _restore(new, old, "status")
        self.default(resource, new)
        if resource.kind == "Pod":
            pods.open_gates(new, old)
        if "generation" in old["metadata"]:
            changed = _specified(new) != _specified(old)
            new["metadata"]["generation"] = old["metadata"]["generation"] + int(changed)

    def prepare_status_update(self, resource: ResourceType, new: Object, old: Object) -> None:
        """Take nothing but the status (and a built-in kind's labels and annotations) from the request."""
        status = new.get("status")
        meta = new["metadata"]
        new.clear()
        new.update(old)
        new["metadata"] = dict(old["metadata"])
        if resource.custom is None:
            for name in ("labels", "annotations"):
                _restore(new["metadata"], meta, name)
        _restore(new, {"status": status}, "status")
        if resource.custom is not None:
            resource.custom.default(new)

    def errors(self, resource: ResourceType, obj: Object, old: Object | None) -> Iterator[FieldError]:
        """Find what keeps the object out."""
        yield from _metadata_errors(resource, obj)
        if resource.custom is not None:
            yield from resource.custom.errors(obj, old)
        elif resource.kind == "Pod":
            yield from pods.pod_errors(obj) if old is None else pods.pod_update_errors(obj, old)
        elif resource.kind == "PodDisruptionBudget":
            yield from budget_errors(obj)
        elif resource.kind == "CustomResourceDefinition":
            yield from definition_errors(obj, self.schemas, self.rules)
        elif resource.group == "events.k8s.io" and old is None:
            yield from events.modern_errors(obj)

    def stamp(self) -> str:
        """Return the present as a metav1.Time."""
        return timestamp(self.now())


def _specified(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name not in {"metadata", "status"}}


def _restore(new: Object, old: Object, name: str) -> None:
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
    for value in (dig(meta, "labels") or {}).values():
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            yield FieldError("metadata.labels", "FieldValueInvalid", value, _LABEL_RULE)
