"""The binding subresource of pods, which assigns a pod to a node.

Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST.
"""

from http import HTTPStatus
from typing import Any

from moorage.sandbox.api_status import FieldError, StatusError, bad_request, conflict, success
from moorage.sandbox.kinds.pod_state import with_condition
from moorage.sandbox.kinds.resource_types import NODES, PODS
from moorage.sandbox.objects import Object, dig, metadata
from moorage.sandbox.operations.decoding import check_is_object, check_types
from moorage.sandbox.operations.object_metadata import uid_mismatch
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Record

_TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def bind(registry: ObjectRegistry, target: Target, body: Any, *, dry_run: bool = False) -> Object:
    """Assign a pod to the node of a Binding. Raises a 404 if the pod is absent, and a 409 if it cannot be assigned."""
    binding = check_is_object(body)
    check_types(binding, registry.schemas.builtin("", "v1", "Binding"), "the body cannot be handled as a Binding")
    node_name = _target_node(target, binding)
    record = registry.get(target)
    if why := _refusal(record, metadata(binding)):
        raise conflict("pods/binding", "", target.name, why)
    if not dry_run:
        registry.store.update(PODS, _bound_pod(registry, record.obj, binding, node_name), record)
    return success()


def _target_node(target: Target, binding: Object) -> str:
    named = metadata(binding).get("name")
    if named and named != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    kind, node = dig(binding, "target", "kind"), dig(binding, "target", "name")
    errors = []
    if kind not in {None, "", "Node"}:
        errors.append(FieldError("target.kind", "FieldValueNotSupported", kind, 'supported values: "Node"'))
    if not node:
        errors.append(FieldError("target.name", "FieldValueRequired"))
    if errors:  # upstream returns plain field errors here, which become a 500
        raise StatusError(HTTPStatus.INTERNAL_SERVER_ERROR, "", ", ".join(map(str, errors)))
    return str(node)


def _refusal(record: Record, meta: Object) -> str:
    """Return the reason why the pod cannot be assigned, or an empty string."""
    pod, name = record.obj, record.obj["metadata"]["name"]
    if why := uid_mismatch(meta, record):
        return why
    if meta.get("resourceVersion") and meta["resourceVersion"] != str(record.revision):
        return (
            f"Precondition failed: ResourceVersion in precondition: {meta['resourceVersion']}, "
            f"ResourceVersion in object meta: {record.revision}"
        )
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _bound_pod(registry: ObjectRegistry, pod: Object, binding: Object, node_name: str) -> Object:
    """Return the bound pod, which shares its unchanged parts with `pod`."""
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
    spec = {**pod["spec"], "nodeName": node_name}
    return pod | {"metadata": meta, "spec": spec, "status": with_condition(status, scheduled)}


def _topology_labels(registry: ObjectRegistry, node_name: str) -> Object:
    """Return the topology labels of the node, which the admission plugin PodTopologyLabels copies to the pod."""
    node = registry.store.get(NODES, ("", node_name))
    labels = metadata(node.obj).get("labels") or {} if node else {}
    return {name: labels[name] for name in _TOPOLOGY_LABELS if name in labels}
