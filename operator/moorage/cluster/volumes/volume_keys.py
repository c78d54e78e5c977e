"""Resolves volumes of pods to the identities that CSI drivers use.

A claim resolves to a volume key through the bound PersistentVolume or, before binding, through the StorageClass. An
in-tree disk that has migrated to CSI has the key of its CSI driver.

Upstream: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.model.volumes.csi_translation import (
    AWS_EBS_DRIVER,
    GCE_PD_DRIVER,
    MIGRATED_PROVISIONERS,
    ebs_volume_id,
    gce_volume_handle,
)
from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim, StorageClass

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod
    from moorage.model.pods.pod_volume import PodVolume

Objects = Callable[[str], Mapping[str, Any]]
"""A function that returns the objects of a kind by key: `namespace/name`, or `name` if the kind has no namespace."""


class VolumeKey(NamedTuple):
    """The identity of a volume for its CSI driver."""

    driver: str
    handle: str


VolumeSource = str | VolumeKey
"""The key of a claim (`namespace/name`), or the volume key of an in-tree disk."""


def is_attachable(volume: PodVolume) -> bool:
    """Return whether a CSI driver may have to attach the volume: a claim, or an in-tree disk migrated to CSI."""
    return volume.is_claim or (volume.disk is not None and volume.disk[0] in {"aws", "gce"})


def volume_keys(pod: Pod, objects: Objects) -> Iterator[VolumeKey]:
    """Yield the keys of those volumes of the pod whose CSI driver is known."""
    for source in volume_sources(pod):
        key = resolve(source, objects)
        if key is not None:
            yield key


def volume_sources(pod: Pod) -> Iterator[VolumeSource]:
    """Yield the keys of the pod's claims and of its in-tree disks that have migrated to CSI."""
    for volume in pod.shape.volumes:
        if volume.is_claim:
            yield f"{pod.namespace}/{volume.claim_of(pod.name)}"
            continue
        match volume.disk:
            case ("aws", name):
                yield VolumeKey(AWS_EBS_DRIVER, ebs_volume_id(name))
            case ("gce", name):
                yield VolumeKey(GCE_PD_DRIVER, gce_volume_handle(name))


def resolve(source: VolumeSource, objects: Objects) -> VolumeKey | None:
    """Return the volume key of a source, None if the CSI driver is unknown."""
    if isinstance(source, VolumeKey):
        return source
    claim: PersistentVolumeClaim | None = objects("PersistentVolumeClaim").get(source)
    if claim is None:
        return None
    volume: PersistentVolume | None = objects("PersistentVolume").get(claim.volume_name)
    if volume is None:
        return _unprovisioned_volume(claim, objects)
    if not volume.csi_driver or not volume.csi_handle:
        return None
    return VolumeKey(volume.csi_driver, volume.csi_handle)


def _unprovisioned_volume(claim: PersistentVolumeClaim, objects: Objects) -> VolumeKey | None:
    """Return a key, made from the claim, for the volume that the claim's StorageClass will provision."""
    storage_class: StorageClass | None = objects("StorageClass").get(claim.class_name)
    if storage_class is None or not storage_class.provisioner:
        return None
    provisioner = storage_class.provisioner
    return VolumeKey(MIGRATED_PROVISIONERS.get(provisioner, provisioner), f"claim {claim.key}")
