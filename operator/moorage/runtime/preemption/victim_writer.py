"""Writes to victims and preemptors: conditions, deletions and evictions of victims, and cleared nominations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.engine.preemption.victim_search import PREEMPTED
from moorage.errors import ApiError, ApiUnreachable
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import POD
from moorage.runtime.client.kube import STRATEGIC_MERGE_PATCH
from moorage.runtime.timestamps import whole_time

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

DEFAULT_GRACE_SECONDS = 30.0
"""The default grace period of the API. It is used if the API server's answer has no grace period."""


class VictimWriter:
    """The writer of conditions, deletions and evictions. All methods raise ApiError, ApiUnreachable or NotLeader."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        """Write through `client`."""
        self._client = client
        self._clock = clock
        self._decoder = msgspec.json.Decoder(_DeletedPod)

    async def delete(self, victim: Pod, reporter: str) -> float:
        """Set the condition, then delete the pod; return its grace period in seconds."""
        if victim.disruption_target != PREEMPTED:
            await self._set_condition(victim, reporter)
        return self._grace_seconds(await self._client.delete(_path(victim), msgspec.json.encode(_options(victim))))

    async def evict(self, victim: Pod, reporter: str) -> float:
        """Evict the pod within its disruption budgets; return its grace period in seconds.

        The API server sets the condition when it evicts a pod. This call then changes the condition's reason to
        PREEMPTED. While pods with this reason terminate, their preemptor selects no other victims.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": victim.name, "namespace": victim.namespace},
            "deleteOptions": _options(victim),
        }
        await self._client.create(f"{_path(victim)}/eviction", msgspec.json.encode(body))
        try:
            return self._grace_seconds(await self._set_condition(victim, reporter))
        except (ApiError, ApiUnreachable):
            return DEFAULT_GRACE_SECONDS  # the pod is evicted, and probably already gone

    async def clear_nomination(self, pod: Pod) -> None:
        """Clear `status.nominatedNodeName` of a pending pod."""
        await self._patch_status(pod, {"nominatedNodeName": None})

    async def _set_condition(self, victim: Pod, reporter: str) -> bytes:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": PREEMPTED,
            "message": f"{reporter}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": whole_time(self._clock.time()),
        }
        return await self._patch_status(victim, {"conditions": [condition]})

    async def _patch_status(self, pod: Pod, status: dict[str, Any]) -> bytes:
        """Patch a pod's status. The patch contains the uid, so it raises Conflict if another pod has the name now."""
        body = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})
        return await self._client.patch(f"{_path(pod)}/status", body, STRATEGIC_MERGE_PATCH)

    def _grace_seconds(self, answer: bytes) -> float:
        try:
            seconds = decode_nested(self._decoder.decode, answer).metadata.deletion_grace_period_seconds
        except msgspec.DecodeError:
            return DEFAULT_GRACE_SECONDS
        return seconds or 0.0


class _DeletedMetadata(msgspec.Struct, rename="camel"):
    deletion_grace_period_seconds: float | None = None


class _DeletedPod(msgspec.Struct):
    """A pod that is being deleted, or the Status of a pod that is gone."""

    metadata: _DeletedMetadata = msgspec.field(default_factory=_DeletedMetadata)


def _path(pod: Pod) -> str:
    return POD.path(pod.name, pod.namespace)


def _options(victim: Pod) -> dict[str, object]:
    """Return DeleteOptions without a grace period, so that the grace period in the victim's spec applies."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}
