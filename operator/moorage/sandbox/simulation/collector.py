"""What kube-controller-manager's collectors do: objects whose owners or namespace are gone go too."""

from typing import Self

from moorage.sandbox.http.targets import Target
from moorage.sandbox.kinds.resources import ResourceType
from moorage.sandbox.objects import metadata
from moorage.sandbox.storage.changes import Feed
from moorage.sandbox.storage.deletion import DeleteOptions, delete
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.store import DELETED, Change

_OWNERS = (
    "replicasets.apps",
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "replicationcontrollers.",
)
_NAMESPACES = "namespaces."
_RECHECK_SECONDS = 0.2


class Collector:
    """Deletes dependents of workloads in the background, and empties namespaces that are being deleted."""

    def __init__(self, registry: Registry) -> None:
        """Collect in a registry."""
        self._registry = registry

    async def run(self) -> None:
        """Collect until cancelled."""
        store = self._registry.store
        with Feed(store, _NAMESPACES, store.revision) as namespaces, _OwnerFeed(self._registry) as owners:
            while True:
                await namespaces.changes(_RECHECK_SECONDS)
                self._empty_namespaces()
                for change in owners.take():
                    self._delete_dependents(change)

    def _empty_namespaces(self) -> None:
        store = self._registry.store
        for record in store.records(_NAMESPACES):
            if not metadata(record.obj).get("deletionTimestamp"):
                continue
            name = record.obj["metadata"]["name"]
            left = [self._delete_all(resource, name) for resource in self._stored() if resource.namespaced]
            if not any(left):
                store.delete(_NAMESPACES, ("", name))

    def _delete_all(self, resource: ResourceType, namespace: str) -> bool:
        """Delete what is there; tells whether something was."""
        records = self._registry.store.records(resource.storage, namespace)
        for record in records:
            if not metadata(record.obj).get("deletionTimestamp"):
                delete(self._registry, Target(resource, namespace, record.obj["metadata"]["name"]), DeleteOptions())
        return bool(records)

    def _delete_dependents(self, change: Change) -> None:
        uid = change.record.obj["metadata"]["uid"]
        namespace = metadata(change.record.obj).get("namespace") or ""
        for resource in self._stored():
            for record in self._registry.store.records(resource.storage, namespace):
                meta = record.obj["metadata"]
                owned = any(reference.get("uid") == uid for reference in meta.get("ownerReferences") or ())
                if owned and not meta.get("deletionTimestamp"):
                    target = Target(resource, meta.get("namespace") or "", meta["name"])
                    delete(self._registry, target, DeleteOptions())

    def _stored(self) -> list[ResourceType]:
        """List one resource for each place that objects live in."""
        by_place = {resource.storage: resource for resource in self._registry.resources if "list" in resource.verbs}
        return list(by_place.values())


class _OwnerFeed:
    """Gathers deletions of the kinds that own others."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._feeds = [Feed(registry.store, place, registry.store.revision) for place in _OWNERS]

    def __enter__(self) -> Self:
        for feed in self._feeds:
            feed.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        for feed in self._feeds:
            feed.__exit__(None, None, None)

    def take(self) -> list[Change]:
        return [change for feed in self._feeds for change in feed.take() if change.kind == DELETED]
