"""Volumes and claims as Reserve has decided about them, until the API server tells of it itself.

What Reserve decides takes time to be written, and longer to come back by the watch. Meanwhile the next pods must see
it: a volume that is promised to a claim is not promised to another, a claim that waits for its volume on a node keeps
its other pods on that node. So the objects are changed in place; a newer version from the watch replaces an assumed
one, the version that the assumption was made from does not.

Upstream: `pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.model.volumes.storage_objects import ClaimRef, PersistentVolume, PersistentVolumeClaim

if TYPE_CHECKING:
    from moorage.cluster.cluster_objects import ClusterObjects

VOLUME = "PersistentVolume"
CLAIM = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class _Assumption:
    """The pod for which an object was changed, and what the watch knows of it."""

    pod_uid: str
    observed: PersistentVolume | PersistentVolumeClaim


class AssumedVolumes:
    """Writes volumes and claims into the cluster's objects, assumed or observed."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._assumed: dict[tuple[str, str], _Assumption] = {}

    def assume(self, pod_uid: str, intents: Iterable[object]) -> None:
        """Change the objects as the intents will; those that are gone, and other intents, are left alone."""
        for intent in intents:
            if isinstance(intent, BindVolume):
                self._bind(pod_uid, intent)
            elif isinstance(intent, SelectNode):
                self._select(pod_uid, intent)

    def revert(self, pod_uid: str) -> None:
        """Put back what was assumed for a pod and is not overtaken by the watch."""
        mine = [place for place, assumption in self._assumed.items() if assumption.pod_uid == pod_uid]
        for kind, key in mine:
            self._objects.set(kind, key, self._assumed.pop((kind, key)).observed)

    def observe(self, kind: str, key: str, value: object) -> None:
        """Take in an object from the watch."""
        assumption = self._assumed.get((kind, key))
        if assumption is not None:
            if getattr(value, "resource_version", "") == assumption.observed.resource_version:
                return
            del self._assumed[kind, key]
        self._objects.set(kind, key, value)

    def lose(self, kind: str, key: str) -> None:
        """Drop an object that the watch says is gone."""
        self._assumed.pop((kind, key), None)
        self._objects.remove(kind, key)

    def _bind(self, pod_uid: str, intent: BindVolume) -> None:
        volume: PersistentVolume | None = self._objects.of_kind(VOLUME).get(intent.volume_name)
        if volume is not None:
            self._remember(pod_uid, (VOLUME, volume.name), volume)
            reference = ClaimRef(intent.claim_namespace, intent.claim_name, intent.claim_uid)
            self._objects.set(VOLUME, volume.name, replace(volume, claim_ref=reference))

    def _select(self, pod_uid: str, intent: SelectNode) -> None:
        key = f"{intent.claim_namespace}/{intent.claim_name}"
        claim: PersistentVolumeClaim | None = self._objects.of_kind(CLAIM).get(key)
        if claim is not None:
            self._remember(pod_uid, (CLAIM, key), claim)
            self._objects.set(CLAIM, key, replace(claim, selected_node=intent.node_name))

    def _remember(
        self, pod_uid: str, place: tuple[str, str], current: PersistentVolume | PersistentVolumeClaim
    ) -> None:
        earlier = self._assumed.get(place)
        self._assumed[place] = _Assumption(pod_uid, earlier.observed if earlier else current)
