"""Deleting objects: preconditions, grace for pods on nodes, finalizers.

unbound pod, other kinds   -> gone at once
pod on a node              -> deletionTimestamp; the kubelet deletes it with grace 0
finalizers                 -> deletionTimestamp; gone when the last finalizer is removed
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from moorage.sandbox.http.targets import Target
from moorage.sandbox.kinds import pods
from moorage.sandbox.kinds.definitions import PLACE as DEFINITIONS
from moorage.sandbox.objects import Object, copy, dig, timestamp
from moorage.sandbox.status import ApiError, bad_request, conflict, success
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.store import Record

_RETURNS_OBJECT = frozenset({"Pod", "Service", "ServiceAccount", "PersistentVolume", "PersistentVolumeClaim"})


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """metav1.DeleteOptions as far as they act here."""

    grace_period_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    propagation: str = "Background"
    dry_run: bool = False

    @classmethod
    def of(cls, body: Any, query: Mapping[str, str]) -> "DeleteOptions":
        """Read the options from a request's body and query; the query wins."""
        body = body if isinstance(body, dict) else {}
        grace = query.get("gracePeriodSeconds", body.get("gracePeriodSeconds"))
        conditions = body.get("preconditions") or {}
        try:
            seconds = None if grace is None else int(grace)
        except (TypeError, ValueError) as error:
            raise bad_request(f"gracePeriodSeconds {grace!r} is no number") from error
        return cls(
            seconds, conditions.get("uid") or "", conditions.get("resourceVersion") or "",
            query.get("propagationPolicy") or body.get("propagationPolicy") or "Background",
            bool(query.get("dryRun") or body.get("dryRun")),
        )  # fmt: skip


def delete(registry: Registry, target: Target, options: DeleteOptions) -> Object:
    """Delete one object. Returns the object while it lingers, else what its kind answers."""
    record = registry.get(target)
    check_preconditions(target, record, options)
    resource = target.resource
    meta = record.obj["metadata"]
    grace = _grace_period_seconds(record.obj, options)
    lingers = bool(grace or meta.get("finalizers") or resource.kind == "Namespace")
    if options.dry_run:
        pass
    elif lingers:
        record = _mark(registry, target, record, grace)
    else:
        record = _remove(registry, target, record, options)
    if lingers or resource.kind in _RETURNS_OBJECT:
        return record.obj
    return success({"name": target.name, "group": resource.group, "kind": resource.plural, "uid": meta["uid"]})


def check_preconditions(target: Target, record: Record, options: DeleteOptions) -> None:
    """Raise a 409 for an object that is not the one, or not in the version, that the client means."""
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


def _failed_precondition(target: Target, why: str) -> ApiError:
    """Complain as upstream does here alone: by kind, and without the group."""
    return conflict(target.resource.kind, "", target.name, why)


def _grace_period_seconds(obj: Object, options: DeleteOptions) -> int:
    """Seconds the kubelet has. Only a pod on a node that has not ended gets any, and never more than before."""
    if obj["kind"] != "Pod" or not dig(obj, "spec", "nodeName") or pods.is_terminal(obj):
        return 0
    wanted = options.grace_period_seconds
    seconds = obj["spec"].get("terminationGracePeriodSeconds", 30) if wanted is None else max(wanted, 0)
    before = obj["metadata"].get("deletionGracePeriodSeconds")
    return int(seconds if before is None else min(seconds, before))


def _mark(registry: Registry, target: Target, record: Record, grace: int) -> Record:
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
    return registry.store.update(target.resource.storage, new, record)


def _remove(registry: Registry, target: Target, record: Record, options: DeleteOptions) -> Record:
    if options.propagation == "Orphan":
        _orphan_dependents(registry, record)
    if record.obj["kind"] == "Pod" and not record.obj["metadata"].get("deletionTimestamp"):
        _mark(registry, target, record, 0)  # upstream shows even pods that go at once as being deleted first
    gone = registry.store.delete(target.resource.storage, target.key)
    if target.resource.storage == DEFINITIONS:
        registry.definitions.withdraw(record)
    return gone


def _orphan_dependents(registry: Registry, owner: Record) -> None:
    uid = owner.obj["metadata"]["uid"]
    for resource in registry.resources:
        for record in registry.store.records(resource.storage, owner.obj["metadata"].get("namespace") or ""):
            references = record.obj["metadata"].get("ownerReferences") or []
            kept = [reference for reference in references if reference.get("uid") != uid]
            if len(kept) != len(references):
                meta = {**record.obj["metadata"], "ownerReferences": kept}
                registry.store.update(resource.storage, record.obj | {"metadata": meta}, record)


def purge(registry: Registry, target: Target) -> None:
    """Delete without grace, as the kubelet does when a pod's containers are gone; a lost race is no failure."""
    record = registry.store.get(target.resource.storage, target.key)
    if record is None:
        return
    if record.obj["metadata"].get("finalizers"):
        _mark(registry, target, record, 0)
    else:
        _remove(registry, target, record, replace(DeleteOptions(), propagation="Background"))
