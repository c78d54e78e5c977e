"""The claims of a pod, sorted by whether they are bound.

Upstream: `PreFilter` in volumebinding/volume_binding.go; `GetPodVolumeClaims` in volumebinding/binder.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.framework.status import Status, error, unresolvable
from moorage.model.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod
    from moorage.model.pods.pod_volume import PodVolume
    from moorage.model.volumes.storage_objects import PersistentVolumeClaim

IMMEDIATE_REASON = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class PodVolumeClaims:
    """The pod's bound claims, and its unbound claims that wait for their first consumer."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


def read_claims(pod: Pod, snapshot: Snapshot) -> PodVolumeClaims | Status:
    """Return the pod's claims, or a rejection if a claim is missing or unusable, or must be bound first."""
    claims: list[PersistentVolumeClaim] = []
    for volume in pod.shape.volumes:
        if volume.is_claim:
            name = volume.claim_of(pod.name)
            claim = snapshot.objects("PersistentVolumeClaim").get(f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(_missing_reason(name, ephemeral=volume.ephemeral))
            if reason := _unusable_reason(claim, volume, pod):
                return unresolvable(reason)
            claims.append(claim)
    delayed = _delayed_claims(claims, snapshot)
    if isinstance(delayed, Status):
        return delayed
    return PodVolumeClaims(tuple(claim for claim in claims if claim.is_bound), delayed)


def named_claims(pod: Pod) -> list[str]:
    """Return the names of the claims in the pod's spec, except the claims of ephemeral volumes."""
    return [volume.claim_name for volume in pod.shape.volumes if volume.claim_name]


def _missing_reason(name: str, *, ephemeral: bool) -> str:
    if ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _unusable_reason(claim: PersistentVolumeClaim, volume: PodVolume, pod: Pod) -> str:
    """Return why the pod cannot use the claim; empty if it can. The pod must own the claims of ephemeral volumes."""
    if claim.phase == "Lost":
        return f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume_name}"'
    if claim.terminating:
        return f'persistentvolumeclaim "{claim.name}" is being deleted'
    if volume.ephemeral and claim.owner_uid != pod.uid:
        return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _delayed_claims(
    claims: Iterable[PersistentVolumeClaim], snapshot: Snapshot
) -> tuple[PersistentVolumeClaim, ...] | Status:
    """Return the claims that wait for their first consumer, or a rejection if another claim is unbound."""
    rejection = None
    delayed: list[PersistentVolumeClaim] = []
    for claim in claims:
        if claim.is_bound:
            continue
        storage_class = snapshot.objects("StorageClass").get(claim.class_name)
        mode = storage_class.volume_binding_mode if storage_class else ""
        if mode is None:
            return error(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"')
        if mode == WAIT_FOR_FIRST_CONSUMER and not claim.volume_name:
            delayed.append(claim)
        else:
            rejection = unresolvable(IMMEDIATE_REASON)
    return rejection or tuple(delayed)
