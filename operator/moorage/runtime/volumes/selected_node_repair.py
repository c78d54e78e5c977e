"""Clears the selected node of a claim when the node no longer exists.

If a claim without a volume has a selected node, pods that use the claim can be scheduled only to that node. Usually a
provisioner that cannot create the volume clears the selected node. But if the node disappears before the provisioner
reads the claim, nothing clears it. kube-scheduler then leaves the claim and its pods pending for ever.
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
    from moorage.runtime.events.event_recorder import EventRecorder
    from moorage.runtime.volumes.volume_stores import VolumeStores
    from moorage.runtime.volumes.volume_writer import VolumeWriter

logger = logging.getLogger(__name__)


class SelectedNodeRepair:
    """The repair of the claims of unschedulable pods."""

    def __init__(self, writer: VolumeWriter, stores: VolumeStores, recorder: EventRecorder) -> None:
        """Write through `writer`, and record an event for each repaired claim."""
        self._writer = writer
        self._stores = stores
        self._recorder = recorder
        self._queue: asyncio.Queue[tuple[PersistentVolumeClaim, Pod]] = asyncio.Queue()
        self._queued: set[str] = set()

    def submit(self, pod: Pod) -> None:
        """Queue the claims of an unschedulable pod whose selected node no longer exists."""
        for claim in self._stale_claims(pod):
            if claim.key not in self._queued:
                self._queued.add(claim.key)
                self._queue.put_nowait((claim, pod))

    async def run(self) -> None:
        """Repair claims until cancelled."""
        while True:
            claim, pod = await self._queue.get()
            try:
                await self._repair(claim, pod)
            finally:
                self._queued.discard(claim.key)

    def _stale_claims(self, pod: Pod) -> Iterable[PersistentVolumeClaim]:
        for volume in pod.shape.volumes:
            claim = self._stores.claims.get(f"{pod.namespace}/{volume.claim_of(pod.name)}") if volume.is_claim else None
            if claim is None or claim.volume_name or not claim.selected_node:
                continue
            if claim.selected_node not in self._stores.nodes:
                yield claim

    async def _repair(self, claim: PersistentVolumeClaim, pod: Pod) -> None:
        try:
            await self._writer.clear_selected_node(claim)
        except (NotFound, Conflict):
            return  # the claim was deleted or changed; the pod's next attempt reads it again
        except MoorageError as error:
            message = "Claim %s keeps the selected node %s, which does not exist, until the pod's next attempt: %s"
            logger.warning(message, claim.key, claim.selected_node, error)
            return
        self._recorder.record(_repaired_event(claim, pod))


def _repaired_event(claim: PersistentVolumeClaim, pod: Pod) -> Event:
    resource = PERSISTENT_VOLUME_CLAIM
    return Event(
        regarding=ObjectReference(
            resource.api_version, resource.kind, claim.name, claim.uid, claim.namespace, claim.resource_version
        ),
        related=pod_reference(pod),
        reason="SelectedNodeGone",
        action="Repairing",
        note=(
            f"The claim's selected node {claim.selected_node} does not exist any more; "
            f"the selection is cleared, and pod {pod.key} is scheduled again"
        ),
        reporter=pod.scheduler_name,
        warning=True,
    )
