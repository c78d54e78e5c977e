"""Decodes the volumes of a pod."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.model.pods.api_pod_volumes import ApiVolume
from moorage.model.pods.pod_volume import PodVolume


def decode_pod_volumes(volumes: Sequence[ApiVolume] | None) -> tuple[PodVolume, ...]:
    """Return the volumes that use a claim or an in-tree disk; scheduling reads no other volumes."""
    return tuple(decoded for volume in volumes or () if (decoded := _decode_pod_volume(volume)) is not None)


def affects_shape(volume: ApiVolume) -> bool:
    """Return whether the volume is part of the pod's shape, because it uses an image, a claim or an in-tree disk."""
    return volume.image is not None or _decode_pod_volume(volume) is not None


def _decode_pod_volume(volume: ApiVolume) -> PodVolume | None:
    if claim := volume.persistent_volume_claim:
        return PodVolume(volume.name, claim_name=claim.claim_name, read_only=claim.read_only)
    return PodVolume(volume.name, ephemeral=True) if volume.ephemeral is not None else _decode_in_tree_disk(volume)


def _decode_in_tree_disk(volume: ApiVolume) -> PodVolume | None:
    if gce := volume.gce_persistent_disk:
        return PodVolume(volume.name, read_only=gce.read_only, disk=("gce", gce.pd_name))
    if aws := volume.aws_elastic_block_store:
        return PodVolume(volume.name, read_only=aws.read_only, disk=("aws", aws.volume_id))
    if iscsi := volume.iscsi:
        return PodVolume(volume.name, read_only=iscsi.read_only, disk=("iscsi", iscsi.iqn))
    if rbd := volume.rbd:
        monitors = frozenset(rbd.monitors or ())
        return PodVolume(volume.name, read_only=rbd.read_only, disk=("rbd", rbd.pool, rbd.image), monitors=monitors)
    return None
