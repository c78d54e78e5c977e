"""Frees claims whose selected node is gone.

A claim that waits for its volume on a node keeps its pods on that node. Usually the provisioner gives a node back for
which it cannot make a volume. Where it has no chance to, as with a node that vanished before the provisioner saw the
claim, kube-scheduler leaves claim and pods waiting for ever.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from moorage.errors import Conflict, MoorageError, NotFound
from moorage.runtime.api_resources import PERSISTENT_VOLUME_CLAIM
from moorage.runtime.events.event import Event, ObjectReference, pod_reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.model.pods.pod import Pod
    from moorage.model.volumes.storage_objects import PersistentVolumeClaim
    from moorage.runtime.reporter import Recorder
    from moorage.runtime.volumes.volume_stores import VolumeStores
    from moorage.runtime.volumes.volume_writer import VolumeWriter

logger = logging.getLogger(__name__)


class SelectedNodeRepair:
    """Looks at the claims of pods that fit nowhere."""

    def __init__(self, writer: VolumeWriter, stores: VolumeStores, recorder: Recorder) -> None:
        """Write through `writer`, and tell through `recorder`."""
        self._writer = writer
        self._stores = stores
        self._recorder = recorder
        self._queue: asyncio.Queue[tuple[PersistentVolumeClaim, Pod]] = asyncio.Queue()
        self._queued: set[str] = set()

    def submit(self, pod: Pod) -> None:
        """Have claims freed that keep this pod, which fits nowhere, on a node that is gone."""
        for claim in self._stale_claims(pod):
            if claim.key not in self._queued:
                self._queued.add(claim.key)
                self._queue.put_nowait((claim, pod))

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            claim, pod = await self._queue.get()
            try:
                await self._free(claim, pod)
            finally:
                self._queued.discard(claim.key)

    def _stale_claims(self, pod: Pod) -> Iterable[PersistentVolumeClaim]:
        for volume in pod.shape.volumes:
            claim = self._stores.claims.get(f"{pod.namespace}/{volume.claim_of(pod.name)}") if volume.is_claim else None
            if claim is None or claim.volume_name or not claim.selected_node:
                continue
            if claim.selected_node not in self._stores.nodes:
                yield claim

    async def _free(self, claim: PersistentVolumeClaim, pod: Pod) -> None:
        try:
            await self._writer.clear_selected_node(claim)
        except (NotFound, Conflict):
            return  # gone, or changed: the pod's next attempt sees how
        except MoorageError as error:
            logger.warning(
                "Claim %s keeps its selected node, which is gone, until the next attempt: %s", claim.key, error
            )
            return
        self._recorder.record(_freed(claim, pod))


def _freed(claim: PersistentVolumeClaim, pod: Pod) -> Event:
    resource = PERSISTENT_VOLUME_CLAIM
    return Event(
        regarding=ObjectReference(
            resource.api_version, resource.kind, claim.name, claim.uid, claim.namespace, claim.resource_version
        ),
        related=pod_reference(pod),
        reason="SelectedNodeGone",
        action="Repairing",
        note=(
            f"Node {claim.selected_node}, which was selected for the claim's volume, is gone; "
            f"the selection is cleared, and pod {pod.key} is scheduled anew"
        ),
        reporter=pod.scheduler_name,
        warning=True,
    )
