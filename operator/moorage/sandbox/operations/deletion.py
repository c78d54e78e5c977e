"""Deletion of objects, with preconditions, grace periods and finalizers.

pod on a node          -> gets a deletionTimestamp; the kubelet deletes it later with grace period 0
object with finalizers -> gets a deletionTimestamp; the update that removes the last finalizer deletes it
any other object       -> is deleted at once
"""

from datetime import timedelta

from moorage.sandbox.api_status import StatusError, conflict, success
from moorage.sandbox.kinds.pod_state import is_terminal
from moorage.sandbox.kinds.resource_types import CUSTOM_RESOURCE_DEFINITIONS
from moorage.sandbox.objects import Object, copy, dig, timestamp
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.request_options import DeleteOptions
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.store import Record

_RETURNS_OBJECT = frozenset({"Pod", "Service", "ServiceAccount", "PersistentVolume", "PersistentVolumeClaim"})
"""Kinds for which a deletion returns the object, as in upstream's storage strategies (ReturnDeletedObject)."""


def delete(registry: ObjectRegistry, target: Target, options: DeleteOptions) -> Object:
    """Delete one object. Returns a Status, or the object if it still exists or if its kind is in _RETURNS_OBJECT."""
    record = registry.get(target)
    check_preconditions(target, record, options)
    resource = target.resource
    meta = record.obj["metadata"]
    grace = _grace_period_seconds(record.obj, options)
    is_deferred = bool(grace or meta.get("finalizers") or resource.kind == "Namespace")
    if options.dry_run:
        pass
    elif is_deferred:
        record = _set_deletion_timestamp(registry, target, record, grace)
    else:
        record = _remove(registry, target, record, options)
    if is_deferred or resource.kind in _RETURNS_OBJECT:
        return record.obj
    return success({"name": target.name, "group": resource.group, "kind": resource.plural, "uid": meta["uid"]})


def check_preconditions(target: Target, record: Record, options: DeleteOptions) -> None:
    """Raise a 409 if a uid or resourceVersion in the options differs from the object's."""
    uid = record.obj["metadata"]["uid"]
    if options.uid and options.uid != uid:
        why = f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
        raise _failed_precondition(target, why + "The object might have been deleted and then recreated")
    if options.resource_version and options.resource_version != str(record.revision):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({record.revision}). The object might have been modified"
        )
        raise _failed_precondition(target, why)


def finish_pod_deletion(registry: ObjectRegistry, target: Target) -> None:
    """Delete a pod whose containers have stopped, as the kubelet does. Ignores an absent pod."""
    record = registry.store.get(target.resource.collection, target.key)
    if record is None:
        return
    if record.obj["metadata"].get("finalizers"):
        _set_deletion_timestamp(registry, target, record, 0)
    else:
        _remove(registry, target, record, DeleteOptions())


def _failed_precondition(target: Target, why: str) -> StatusError:
    """Return a 409 that names the kind, as upstream does here. Other errors name the plural and the group."""
    return conflict(target.resource.kind, "", target.name, why)


def _grace_period_seconds(obj: Object, options: DeleteOptions) -> int:
    """Return the grace period of a pod on a node, or 0 for any other object. A second deletion can only shorten it."""
    if obj["kind"] != "Pod" or not dig(obj, "spec", "nodeName") or is_terminal(obj):
        return 0
    wanted = options.grace_period_seconds
    seconds = obj["spec"].get("terminationGracePeriodSeconds", 30) if wanted is None else max(wanted, 0)
    before = obj["metadata"].get("deletionGracePeriodSeconds")
    return int(seconds if before is None else min(seconds, before))


def _set_deletion_timestamp(registry: ObjectRegistry, target: Target, record: Record, grace: int) -> Record:
    new = copy(record.obj)
    meta = new["metadata"]
    if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds", 0) <= grace:
        return record
    meta["deletionTimestamp"] = timestamp(registry.now() + timedelta(seconds=grace))
    if new["kind"] == "Namespace":
        new["status"] = {**(new.get("status") or {}), "phase": "Terminating"}
    else:
        meta["deletionGracePeriodSeconds"] = grace
    if "generation" in meta:
        meta["generation"] += 1
    return registry.store.update(target.resource.collection, new, record)


def _remove(registry: ObjectRegistry, target: Target, record: Record, options: DeleteOptions) -> Record:
    if options.propagation == "Orphan":
        _orphan_dependents(registry, record)
    if record.obj["kind"] == "Pod" and not record.obj["metadata"].get("deletionTimestamp"):
        _set_deletion_timestamp(registry, target, record, 0)  # as upstream: watchers see MODIFIED before DELETED
    deleted = registry.store.delete(target.resource.collection, target.key)
    if target.resource.collection == CUSTOM_RESOURCE_DEFINITIONS:
        registry.definitions.remove(record)
    return deleted


def _orphan_dependents(registry: ObjectRegistry, owner: Record) -> None:
    uid = owner.obj["metadata"]["uid"]
    for resource in registry.resources:
        for record in registry.store.records(resource.collection, owner.obj["metadata"].get("namespace") or ""):
            references = record.obj["metadata"].get("ownerReferences") or []
            kept = [reference for reference in references if reference.get("uid") != uid]
            if len(kept) != len(references):
                meta = {**record.obj["metadata"], "ownerReferences": kept}
                registry.store.update(resource.collection, record.obj | {"metadata": meta}, record)
