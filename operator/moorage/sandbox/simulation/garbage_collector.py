"""The parts of kube-controller-manager's garbage collector and namespace controller that deletions need."""

from typing import Self

from moorage.sandbox.kinds.resource_types import NAMESPACES, ResourceType
from moorage.sandbox.objects import metadata
from moorage.sandbox.operations.deletion import delete
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.request_options import DeleteOptions
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.storage.change_feed import ChangeFeed
from moorage.sandbox.storage.store import DELETED, Change

_OWNERS = (
    "replicasets.apps",
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "replicationcontrollers.",
)
_RECHECK_SECONDS = 0.2  # the longest time between two checks


class GarbageCollector:
    """The controller that deletes the dependents of deleted workloads, and the objects of terminating namespaces."""

    def __init__(self, registry: ObjectRegistry) -> None:
        """Delete objects of `registry`."""
        self._registry = registry

    async def run(self) -> None:
        """Run until the task is cancelled."""
        store = self._registry.store
        with ChangeFeed(store, NAMESPACES, store.revision) as namespaces, _OwnerDeletions(self._registry) as owners:
            while True:
                await namespaces.changes(_RECHECK_SECONDS)
                self._empty_namespaces()
                for change in owners.take():
                    self._delete_dependents(change)

    def _empty_namespaces(self) -> None:
        store = self._registry.store
        for record in store.records(NAMESPACES):
            if not metadata(record.obj).get("deletionTimestamp"):
                continue
            name = record.obj["metadata"]["name"]
            left = [self._delete_all(resource, name) for resource in self._stored() if resource.namespaced]
            if not any(left):
                store.delete(NAMESPACES, ("", name))

    def _delete_all(self, resource: ResourceType, namespace: str) -> bool:
        """Delete all objects of a resource. Return whether any existed."""
        records = self._registry.store.records(resource.collection, namespace)
        for record in records:
            if not metadata(record.obj).get("deletionTimestamp"):
                delete(self._registry, Target(resource, namespace, record.obj["metadata"]["name"]), DeleteOptions())
        return bool(records)

    def _delete_dependents(self, change: Change) -> None:
        uid = change.record.obj["metadata"]["uid"]
        namespace = metadata(change.record.obj).get("namespace") or ""
        for resource in self._stored():
            for record in self._registry.store.records(resource.collection, namespace):
                meta = record.obj["metadata"]
                owned = any(reference.get("uid") == uid for reference in meta.get("ownerReferences") or ())
                if owned and not meta.get("deletionTimestamp"):
                    target = Target(resource, meta.get("namespace") or "", meta["name"])
                    delete(self._registry, target, DeleteOptions())

    def _stored(self) -> list[ResourceType]:
        """Return one resource for each collection of the store."""
        by_collection = {
            resource.collection: resource for resource in self._registry.resources if "list" in resource.verbs
        }
        return list(by_collection.values())


class _OwnerDeletions:
    """The deletions of objects whose kinds own other objects."""

    def __init__(self, registry: ObjectRegistry) -> None:
        self._registry = registry
        self._feeds = [ChangeFeed(registry.store, collection, registry.store.revision) for collection in _OWNERS]

    def __enter__(self) -> Self:
        for feed in self._feeds:
            feed.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        for feed in self._feeds:
            feed.__exit__(None, None, None)

    def take(self) -> list[Change]:
        return [change for feed in self._feeds for change in feed.take() if change.kind == DELETED]
