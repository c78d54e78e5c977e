"""Assumed volumes and claims: the results of Reserve that the watch has not delivered yet.

The runtime writes an intent after the cycle, and the watch delivers the written object later. The next cycles must see
the result earlier: no second claim may get the same volume, and other pods that use a claim must go to the node that
was selected for the claim. Therefore assumed versions replace the objects in `ClusterObjects`. A newer version from the
watch replaces an assumed version. If the watch sends the version from before the assumption again, that version is
ignored.

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

_VOLUME = "PersistentVolume"
_CLAIM = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class _Assumption:
    """The pod for which an object was assumed, and the object's last version from the watch."""

    pod_uid: str
    observed: PersistentVolume | PersistentVolumeClaim


class AssumedVolumes:
    """Assumed versions of volumes and claims, and the observed versions that they replace in the cluster's objects."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._assumed: dict[tuple[str, str], _Assumption] = {}

    def assume(self, pod_uid: str, intents: Iterable[object]) -> None:
        """Apply a pod's intents to the objects; ignore intents of other types and objects that do not exist."""
        for intent in intents:
            if isinstance(intent, BindVolume):
                self._bind(pod_uid, intent)
            elif isinstance(intent, SelectNode):
                self._select(pod_uid, intent)

    def revert(self, pod_uid: str) -> None:
        """Restore the observed versions of the objects that are still assumed for a pod."""
        keys = [key for key, assumption in self._assumed.items() if assumption.pod_uid == pod_uid]
        for kind, key in keys:
            self._objects.set(kind, key, self._assumed.pop((kind, key)).observed)

    def observe(self, kind: str, key: str, value: object) -> None:
        """Set an object to the version from the watch.

        Keep the assumed version if it is a change of exactly this version, because the watch is then only late.
        """
        assumption = self._assumed.get((kind, key))
        if assumption is not None:
            if getattr(value, "resource_version", "") == assumption.observed.resource_version:
                return
            del self._assumed[kind, key]
        self._objects.set(kind, key, value)

    def remove(self, kind: str, key: str) -> None:
        """Remove an object that was deleted."""
        self._assumed.pop((kind, key), None)
        self._objects.remove(kind, key)

    def state(self) -> list[tuple[str, str, str, PersistentVolume | PersistentVolumeClaim]]:
        """Return the kind and the key of each assumed object, the uid of its pod, and the observed version."""
        return [(kind, key, each.pod_uid, each.observed) for (kind, key), each in self._assumed.items()]

    def restore(self, state: Iterable[tuple[str, str, str, PersistentVolume | PersistentVolumeClaim]]) -> None:
        """Take over the values that `state` has returned."""
        self._assumed = {(kind, key): _Assumption(pod_uid, observed) for kind, key, pod_uid, observed in state}

    def _bind(self, pod_uid: str, intent: BindVolume) -> None:
        volume: PersistentVolume | None = self._objects.of_kind(_VOLUME).get(intent.volume_name)
        if volume is not None:
            self._record(pod_uid, (_VOLUME, volume.name), volume)
            reference = ClaimRef(intent.claim_namespace, intent.claim_name, intent.claim_uid)
            self._objects.set(_VOLUME, volume.name, replace(volume, claim_ref=reference))

    def _select(self, pod_uid: str, intent: SelectNode) -> None:
        key = f"{intent.claim_namespace}/{intent.claim_name}"
        claim: PersistentVolumeClaim | None = self._objects.of_kind(_CLAIM).get(key)
        if claim is not None:
            self._record(pod_uid, (_CLAIM, key), claim)
            self._objects.set(_CLAIM, key, replace(claim, selected_node=intent.node_name))

    def _record(
        self, pod_uid: str, kind_and_key: tuple[str, str], current: PersistentVolume | PersistentVolumeClaim
    ) -> None:
        earlier = self._assumed.get(kind_and_key)
        self._assumed[kind_and_key] = _Assumption(pod_uid, earlier.observed if earlier else current)
