"""Reading and writing objects: what kube-apiserver's generic registry does for every kind.

    body -> pruned, typed -> stored form -> prepared -> checked -> owners recorded -> store

Synchronous from end to end, so each request sees and leaves a consistent store.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from moorage.sandbox.http.decoding import decode_body
from moorage.sandbox.http.forms import from_stored
from moorage.sandbox.http.targets import Target, WriteOptions
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.definitions import PLACE as DEFINITIONS
from moorage.sandbox.kinds.definitions import Definitions
from moorage.sandbox.kinds.resources import Resources, ResourceType
from moorage.sandbox.kinds.schemas import Schema, Schemas
from moorage.sandbox.objects import Object, copy, metadata
from moorage.sandbox.patching import apply, patches
from moorage.sandbox.patching.managed_fields import APPLY, UPDATE, Manager, Writer, record_update
from moorage.sandbox.patching.strategic import strategic_merge
from moorage.sandbox.status import (
    FieldError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
    stale,
    unsupported_media_type,
)
from moorage.sandbox.storage.store import Record, Store
from moorage.sandbox.storage.strategies import Strategies

_UNTRACKED = frozenset({"pods.", "nodes.", "events", "leases.coordination.k8s.io"})
"""Written so often that field owners are recorded only for writers who name themselves, as kubectl does."""
_BUILTIN_PATCHES = (patches.JSON, patches.MERGE, patches.STRATEGIC, patches.APPLY)
_CUSTOM_PATCHES = (patches.JSON, patches.MERGE, patches.APPLY)
_GENERATED_NAME_CHARACTERS = 5


class Registry:
    """Creates, reads, updates and patches objects. Deletion and pods' own verbs are in modules of their own."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        """Work on a store; `now` gives every timestamp."""
        self.store = store
        self.now = now
        self.schemas = Schemas()
        self.rules = CelRules()
        self.resources = Resources()
        self.definitions = Definitions(store, self.resources, self.schemas, self.rules)
        self.strategies = Strategies(store, self.schemas, self.rules, now)

    def get(self, target: Target) -> Record:
        """Get one object; raises a 404."""
        found = self.store.get(target.resource.storage, target.key)
        if found is None:
            raise not_found(*target.qualified)
        return found

    def create(self, target: Target, body: Any, options: WriteOptions) -> Record:
        """Add an object."""
        resource = target.resource
        obj = decode_body(self.schemas, target, body, options)
        self._name(target, obj)
        self.strategies.default(resource, obj)
        if options.named or resource.storage not in _UNTRACKED:
            if self.strategies.resets_status(resource):
                obj.pop("status", None)
            record_update(obj, None, self.schema_of(resource), self._writer(target, options, UPDATE))
        return self._admit(target, obj, options)

    def _admit(self, target: Target, obj: Object, options: WriteOptions) -> Record:
        """Add a named object that is not there yet."""
        resource = target.resource
        self._check_namespace(target, obj)
        self.strategies.prepare_create(resource, obj)
        obj["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.strategies.stamp()}
        self._check(resource, obj, None)
        if self.store.get(resource.storage, (target.namespace, obj["metadata"]["name"])) is not None:
            raise already_exists(resource.plural, resource.group, obj["metadata"]["name"])
        return self._add(resource, obj, options)

    def _add(self, resource: ResourceType, obj: Object, options: WriteOptions) -> Record:
        if options.dry_run:
            return Record(obj, 0)
        return self._written(resource, self.store.create(resource.storage, obj))

    def _written(self, resource: ResourceType, record: Record) -> Record:
        if resource.storage != DEFINITIONS:
            return record
        return self.definitions.establish(record, self.strategies.stamp())

    def update(self, target: Target, body: Any, options: WriteOptions) -> Record:
        """Replace an object or its status."""
        old = self.get(target)
        new = decode_body(self.schemas, target, body, options)
        new["metadata"].setdefault("name", target.name)
        if new["metadata"]["name"] != target.name:
            raise bad_request(
                f"the name of the object ({new['metadata']['name']}) does not match the name on the URL ({target.name})"
            )
        return self.replace(target, new, old, options)

    def patch(self, target: Target, content_type: str, body: Any, options: WriteOptions) -> tuple[Record, bool]:
        """Patch an object or its status; also tells whether that created it."""
        accepted = _BUILTIN_PATCHES if target.resource.custom is None else _CUSTOM_PATCHES
        if content_type not in accepted:
            raise unsupported_media_type(accepted)
        if content_type == patches.APPLY:
            return self._apply(target, body, options)
        old = self.get(target)
        served = from_stored(target.resource, old.obj)
        patched = self._patched(target.resource, content_type, served, body)
        return self.replace(target, decode_body(self.schemas, target, patched, options), old, options), False

    def replace(self, target: Target, new: Object, old: Record, options: WriteOptions, *, track: bool = True) -> Record:
        """Put a new version, in stored form, in an old one's place, unless nothing changes."""
        resource = target.resource
        self._check_preconditions(target, new, old)
        _keep_system_metadata(new, old.obj)
        if target.subresource == "status":
            self.strategies.prepare_status_update(resource, new, old.obj)
        else:
            self.strategies.prepare_update(resource, new, old.obj)
        self._check(resource, new, old.obj)
        tracked = resource.storage not in _UNTRACKED or "managedFields" in old.obj["metadata"]
        if tracked and track:
            writer = self._writer(target, options, UPDATE)
            record_update(new, old.obj, self.schema_of(resource), writer)
        return self.save(resource, new, old, dry_run=options.dry_run)

    def save(self, resource: ResourceType, new: Object, old: Record, *, dry_run: bool = False) -> Record:
        """Store a new version as it is; one that loses its last finalizer while being deleted goes."""
        if _same(new, old.obj):
            return old
        if dry_run:
            return Record(new, old.revision)
        record = self._written(resource, self.store.update(resource.storage, new, old))
        meta = new["metadata"]
        gone = (
            meta.get("deletionTimestamp") and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")
        )
        if gone and resource.kind != "Namespace":
            return self.store.delete(resource.storage, (meta.get("namespace") or "", meta["name"]))
        return record

    def schema_of(self, resource: ResourceType) -> Schema | None:
        """Find the schema of objects as stored."""
        if resource.custom is not None:
            return resource.custom.schema
        group = "" if resource.stored_as else resource.group
        return self.schemas.builtin(group, resource.version, resource.kind)

    def _apply(self, target: Target, body: Any, options: WriteOptions) -> tuple[Record, bool]:
        applied = decode_body(self.schemas, target, body, options)
        if metadata(applied).get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        applied["metadata"].setdefault("name", target.name)
        old = self.store.get(target.resource.storage, target.key)
        if old is None and target.subresource:
            raise not_found(*target.qualified)
        live = old.obj if old else {"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": {}}
        writer = self._writer(target, options, APPLY)
        new = apply.server_side_apply(live, applied, self.schema_of(target.resource), writer, force=options.force)
        if old is None:
            managed = new["metadata"].pop("managedFields", None)
            self._name(target, new)
            self.strategies.default(target.resource, new)
            if managed:
                new["metadata"]["managedFields"] = managed
            return self._admit(target, new, options), True
        if applied["metadata"].get("resourceVersion"):
            new["metadata"]["resourceVersion"] = applied["metadata"]["resourceVersion"]
        return self.replace(target, copy(new), old, options, track=False), False

    def _name(self, target: Target, obj: Object) -> None:
        meta = obj["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:_GENERATED_NAME_CHARACTERS]
        if not meta.get("name"):
            fault = FieldError("metadata.name", "FieldValueRequired", detail="name or generateName is required")
            raise invalid(target.resource.kind, target.resource.group, "", [fault])
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        for system in ("uid", "creationTimestamp", "deletionTimestamp", "managedFields", "generation", "selfLink"):
            meta.pop(system, None)

    def _check_namespace(self, target: Target, obj: Object) -> None:
        if not target.resource.namespaced:
            obj["metadata"].pop("namespace", None)
            return
        found = self.store.get("namespaces.", ("", target.namespace))
        if found is None:
            raise not_found("namespaces", "", target.namespace)
        if found.obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
            raise forbidden(target.resource.plural, target.resource.group, obj["metadata"]["name"], why)

    @staticmethod
    def _check_preconditions(target: Target, new: Object, old: Record) -> None:
        meta = new["metadata"]
        uid = old.obj["metadata"]["uid"]
        if meta.get("uid") and meta["uid"] != uid:
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {uid}"
            raise conflict(*target.qualified, why)
        if meta.get("resourceVersion") and meta["resourceVersion"] != str(old.revision):
            raise stale(*target.qualified)

    def _check(self, resource: ResourceType, obj: Object, old: Object | None) -> None:
        errors = list(self.strategies.errors(resource, obj, old))
        if errors:
            raise invalid(resource.kind, resource.group, obj["metadata"]["name"], errors)

    def _patched(self, resource: ResourceType, content_type: str, served: Object, patch: Any) -> Object:
        if content_type == patches.JSON:
            return patches.json_patch(served, patch)
        if not isinstance(patch, dict):
            raise bad_request("a merge patch is an object")
        if content_type == patches.STRATEGIC:
            schema = self.schemas.builtin(resource.group, resource.version, resource.kind)
            return strategic_merge(served, patch, schema)
        merged: Object = patches.merge(served, patch)
        return merged

    def _writer(self, target: Target, options: WriteOptions, operation: str) -> Writer:
        subresource = target.subresource if target.subresource == "status" else ""
        manager = Manager(options.manager, operation, subresource, target.resource.api_version)
        return Writer(manager, self.strategies.stamp())


def _keep_system_metadata(new: Object, old: Object) -> None:
    meta, before = new["metadata"], old["metadata"]
    for name in (
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "namespace",
        "name",
        "generateName",
    ):
        if name in before:
            meta[name] = before[name]
        else:
            meta.pop(name, None)
    if meta.get("managedFields") is None and before.get("managedFields") is not None:
        meta["managedFields"] = before["managedFields"]
    meta["resourceVersion"] = before["resourceVersion"]


def _same(new: Object, old: Object) -> bool:
    return _without_times(new) == _without_times(old)


def _without_times(obj: Object) -> Object:
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    if "managedFields" in meta:
        meta["managedFields"] = [{**entry, "time": None} for entry in meta["managedFields"]]
    return obj | {"metadata": meta}
