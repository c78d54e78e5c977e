"""Creation, reads, updates and patches of objects of any kind, as kube-apiserver's generic registry does them.

    body -> decoded and pruned -> converted to the storage version -> prepared -> validated -> field owners recorded
    -> stored

If a request creates or applies an object, the field owners are recorded before the object is prepared.

`strategies.py` has the rules that differ between kinds. Deletion, lists, bindings and evictions are in other modules.
Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from moorage.sandbox.api_status import already_exists, bad_request, forbidden, invalid, not_found
from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.conversion import from_stored
from moorage.sandbox.kinds.resource_types import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    ResourceType,
)
from moorage.sandbox.kinds.schemas import Schema, Schemas
from moorage.sandbox.kinds.served_resources import ServedResources
from moorage.sandbox.objects import Object, copy, key_of, metadata
from moorage.sandbox.operations.crd_establishing import EstablishingController
from moorage.sandbox.operations.decoding import decode_body
from moorage.sandbox.operations.object_metadata import (
    check_update_preconditions,
    is_unchanged,
    keep_system_metadata,
    prepare_new_metadata,
)
from moorage.sandbox.operations.patch_requests import apply_patch, check_media_type
from moorage.sandbox.operations.request_options import WriteOptions
from moorage.sandbox.operations.strategies import Strategies
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.patching.managed_fields import APPLY, UPDATE, FieldManager, FieldWriter, record_update
from moorage.sandbox.patching.media_types import APPLY_PATCH
from moorage.sandbox.patching.server_side_apply import server_side_apply
from moorage.sandbox.storage.store import Record, Store

_UNTRACKED = frozenset({PODS, NODES, EVENTS, "leases.coordination.k8s.io"})
"""Collections with frequent writes. Their objects get field owners only if the creator sends a fieldManager."""


class ObjectRegistry:
    """All objects of all served resources, with the rules for writing them."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        """Write to `store`. `now` is the clock of all timestamps."""
        self.store = store
        self.now = now
        self.schemas = Schemas()
        self.rules = CelRules()
        self.resources = ServedResources()
        self.definitions = EstablishingController(store, self.resources, self.schemas, self.rules)
        self.strategies = Strategies(store, self.schemas, self.rules, now)

    def get(self, target: Target) -> Record:
        """Return one object. Raises a 404."""
        found = self.store.get(target.resource.collection, target.key)
        if found is None:
            raise not_found(*target.qualified)
        return found

    def create(self, target: Target, body: Any, options: WriteOptions) -> Record:
        """Create an object from a request's body."""
        resource = target.resource
        obj = decode_body(self.schemas, target, body, options)
        prepare_new_metadata(target, obj)
        self.strategies.default(resource, obj)
        if options.named or resource.collection not in _UNTRACKED:
            if self.strategies.resets_status(resource):
                obj.pop("status", None)
            record_update(obj, None, self.schema_of(resource), self._field_writer(target, options, UPDATE))
        return self._create_named(target, obj, options)

    def update(self, target: Target, body: Any, options: WriteOptions) -> Record:
        """Replace an object, or only its status, with a request's body."""
        old = self.get(target)
        new = decode_body(self.schemas, target, body, options)
        new["metadata"].setdefault("name", target.name)
        if new["metadata"]["name"] != target.name:
            raise bad_request(
                f"the name of the object ({new['metadata']['name']}) does not match the name on the URL ({target.name})"
            )
        return self.replace(target, new, old, options)

    def patch(self, target: Target, media_type: str, body: Any, options: WriteOptions) -> tuple[Record, bool]:
        """Patch an object, or only its status. Returns the new version, and whether an apply created the object."""
        check_media_type(target.resource, media_type)
        if media_type == APPLY_PATCH:
            return self._apply(target, body, options)
        old = self.get(target)
        served = from_stored(target.resource, old.obj)
        new = apply_patch(self.schemas, target.resource, media_type, served, body)
        return self.replace(target, decode_body(self.schemas, target, new, options), old, options), False

    def replace(self, target: Target, new: Object, old: Record, options: WriteOptions, *, track: bool = True) -> Record:
        """Validate a new version of an object, and store it if it differs from the old version.

        With `track` False, the managedFields of `new` do not change.
        """
        resource = target.resource
        check_update_preconditions(target, new, old)
        keep_system_metadata(new, old.obj)
        if target.subresource == "status":
            self.strategies.prepare_status_update(resource, new, old.obj)
        else:
            self.strategies.prepare_update(resource, new, old.obj)
        self._validate(resource, new, old.obj)
        tracked = resource.collection not in _UNTRACKED or "managedFields" in old.obj["metadata"]
        if tracked and track:
            record_update(new, old.obj, self.schema_of(resource), self._field_writer(target, options, UPDATE))
        return self._store_version(resource, new, old, dry_run=options.dry_run)

    def schema_of(self, resource: ResourceType) -> Schema | None:
        """Return the schema of the stored version of a resource."""
        if resource.custom is not None:
            return resource.custom.schema
        group = "" if resource.stored_as else resource.group
        return self.schemas.builtin(group, resource.version, resource.kind)

    def _apply(self, target: Target, body: Any, options: WriteOptions) -> tuple[Record, bool]:
        applied = decode_body(self.schemas, target, body, options)
        if metadata(applied).get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        applied["metadata"].setdefault("name", target.name)
        old = self.store.get(target.resource.collection, target.key)
        if old is None and target.subresource:
            raise not_found(*target.qualified)
        live = old.obj if old else {"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": {}}
        writer = self._field_writer(target, options, APPLY)
        new = server_side_apply(live, applied, self.schema_of(target.resource), writer, force=options.force)
        if old is None:
            managed = new["metadata"].pop("managedFields", None)
            prepare_new_metadata(target, new)
            self.strategies.default(target.resource, new)
            if managed:
                new["metadata"]["managedFields"] = managed
            return self._create_named(target, new, options), True
        if applied["metadata"].get("resourceVersion"):
            new["metadata"]["resourceVersion"] = applied["metadata"]["resourceVersion"]
        return self.replace(target, copy(new), old, options, track=False), False

    def _create_named(self, target: Target, obj: Object, options: WriteOptions) -> Record:
        """Admit, validate and store a decoded object that has a name."""
        resource = target.resource
        self._check_namespace(target, obj)
        self.strategies.prepare_create(resource, obj)
        obj["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.strategies.stamp()}
        self._validate(resource, obj, None)
        name = obj["metadata"]["name"]
        if self.store.get(resource.collection, (target.namespace, name)) is not None:
            raise already_exists(resource.plural, resource.group, name)
        if options.dry_run:
            return Record(obj, 0)
        return self._establish_definition(resource, self.store.create(resource.collection, obj))

    def _check_namespace(self, target: Target, obj: Object) -> None:
        if not target.resource.namespaced:
            obj["metadata"].pop("namespace", None)
            return
        found = self.store.get(NAMESPACES, ("", target.namespace))
        if found is None:
            raise not_found("namespaces", "", target.namespace)
        if found.obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
            raise forbidden(target.resource.plural, target.resource.group, obj["metadata"]["name"], why)

    def _validate(self, resource: ResourceType, obj: Object, old: Object | None) -> None:
        errors = list(self.strategies.errors(resource, obj, old))
        if errors:
            raise invalid(resource.kind, resource.group, obj["metadata"]["name"], errors)

    def _store_version(self, resource: ResourceType, new: Object, old: Record, *, dry_run: bool) -> Record:
        """Store a changed version. If the object is being deleted and has no finalizers left, delete it."""
        if is_unchanged(new, old.obj):
            return old
        if dry_run:
            return Record(new, old.revision)
        record = self._establish_definition(resource, self.store.update(resource.collection, new, old))
        meta = new["metadata"]
        is_finished = (
            meta.get("deletionTimestamp") and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")
        )
        if is_finished and resource.kind != "Namespace":
            return self.store.delete(resource.collection, key_of(new))
        return record

    def _establish_definition(self, resource: ResourceType, record: Record) -> Record:
        if resource.collection != CUSTOM_RESOURCE_DEFINITIONS:
            return record
        return self.definitions.establish(record, self.strategies.stamp())

    def _field_writer(self, target: Target, options: WriteOptions, operation: str) -> FieldWriter:
        subresource = target.subresource if target.subresource == "status" else ""
        manager = FieldManager(options.manager, operation, subresource, target.resource.api_version)
        return FieldWriter(manager, self.strategies.stamp())
