"""Writes decisions about volumes: the claimRef of a volume, and the selected node of a claim.

Each write requires the resourceVersion on which the decision is based. After a conflict the writer reads the object
again. If the object already has the wanted value, nothing is written. For example, another pod with the same claim has
written it.
Upstream: GetBindVolumeToClaim in component-helpers/storage/volume/pv_helpers.go, bindAPIUpdate in
pkg/scheduler/framework/plugins/volumebinding/binder.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.errors import Conflict
from moorage.model.volumes.decode_volumes import decode_persistent_volume, decode_persistent_volume_claim
from moorage.runtime.api_resources import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from moorage.runtime.client.kube import MERGE_PATCH

if TYPE_CHECKING:
    from moorage.cluster.intents import Intent
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.volumes.volume_stores import VolumeStores

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Marks a binding that the scheduler chose, so that the volume controller removes it when the claim is deleted."""


class VolumeWriter:
    """The writer of volumes and claims. All methods raise ApiError, ApiUnreachable or NotLeader."""

    def __init__(self, client: KubeClient, stores: VolumeStores) -> None:
        """Write through `client`. Values that objects in `stores` already have are not written again."""
        self._client = client
        self._stores = stores

    async def write(self, intent: Intent) -> str:
        """Carry out an intent; return the resourceVersion of the written object."""
        if isinstance(intent, BindVolume):
            return await self._bind_volume(intent)
        return await self._select_node(intent)

    async def clear_selected_node(self, claim: PersistentVolumeClaim) -> None:
        """Remove the selected node of a claim. If the claim has changed, raise Conflict."""
        await self._annotate(claim.namespace, claim.name, claim.resource_version, None)

    async def _bind_volume(self, intent: BindVolume) -> str:
        known = self._stores.volumes.get(intent.volume_name)
        if known is not None and _is_bound_to(known, intent):
            return known.resource_version
        path = PERSISTENT_VOLUME.path(intent.volume_name)
        metadata: dict[str, Any] = {"resourceVersion": intent.volume_resource_version}
        if known is None or known.claim_ref is None:
            metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        reference = {
            "apiVersion": PERSISTENT_VOLUME_CLAIM.api_version,
            "kind": PERSISTENT_VOLUME_CLAIM.kind,
            "namespace": intent.claim_namespace,
            "name": intent.claim_name,
            "uid": intent.claim_uid,
        }
        try:
            answer = await self._patch(path, {"metadata": metadata, "spec": {"claimRef": reference}})
        except Conflict:
            answer = await self._client.get(path)
            if not _is_bound_to(decode_persistent_volume(answer), intent):
                raise
        return decode_persistent_volume(answer).resource_version

    async def _select_node(self, intent: SelectNode) -> str:
        namespace, name = intent.claim_namespace, intent.claim_name
        known = self._stores.claims.get(f"{namespace}/{name}")
        if known is not None and known.selected_node == intent.node_name:
            return known.resource_version
        try:
            answer = await self._annotate(namespace, name, intent.claim_resource_version, intent.node_name)
        except Conflict:
            answer = await self._client.get(PERSISTENT_VOLUME_CLAIM.path(name, namespace))
            if decode_persistent_volume_claim(answer).selected_node != intent.node_name:
                raise
        return decode_persistent_volume_claim(answer).resource_version

    async def _annotate(self, namespace: str, name: str, version: str, node_name: str | None) -> bytes:
        metadata = {"resourceVersion": version, "annotations": {SELECTED_NODE: node_name}}
        return await self._patch(PERSISTENT_VOLUME_CLAIM.path(name, namespace), {"metadata": metadata})

    async def _patch(self, path: str, body: dict[str, Any]) -> bytes:
        return await self._client.patch(path, msgspec.json.encode(body), MERGE_PATCH)


def _is_bound_to(volume: PersistentVolume, intent: BindVolume) -> bool:
    reference = volume.claim_ref
    return reference is not None and reference.uid == intent.claim_uid
