"""Decodes PersistentVolumeClaims and PersistentVolumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, json

from moorage.model.decode_selectors import decode_node_selector
from moorage.model.volumes.api_volumes import ApiClaim, ApiPersistentVolume
from moorage.model.volumes.csi_translation import (
    AWS_EBS_DRIVER,
    AZURE_DISK_DRIVER,
    GCE_PD_DRIVER,
    ebs_volume_id,
    gce_volume_handle,
)
from moorage.model.volumes.decode_fields import decode_bytes, decode_selector
from moorage.model.volumes.storage_objects import ClaimRef, PersistentVolume, PersistentVolumeClaim

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_STORAGE = "storage"
_FILESYSTEM = "Filesystem"


def decode_persistent_volume_claim(raw: bytes) -> PersistentVolumeClaim:
    """Decode a PersistentVolumeClaim."""
    api = json.decode(raw, type=ApiClaim)
    metadata, spec = api.metadata, api.spec
    annotations = metadata.annotations or {}
    owners = (owner.uid for owner in metadata.owner_references or () if owner.controller)
    return PersistentVolumeClaim(
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        volume_name=spec.volume_name,
        bind_completed=_BIND_COMPLETED in annotations,
        selected_node=annotations.get(NODE_ANNOTATION),
        class_name=annotations.get(STORAGE_CLASS_ANNOTATION, spec.storage_class_name or ""),
        access_modes=frozenset(spec.access_modes or ()),
        request_bytes=decode_bytes((spec.resources.requests or {}).get(_STORAGE), "spec.resources.requests.storage"),
        volume_mode=spec.volume_mode or _FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        selector=decode_selector(spec.selector, "spec.selector"),
        phase=api.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        owner_uid=next(owners, ""),
    )


def decode_persistent_volume(raw: bytes) -> PersistentVolume:
    """Decode a PersistentVolume."""
    api = json.decode(raw, type=ApiPersistentVolume)
    metadata, spec = api.metadata, api.spec
    required = spec.node_affinity and spec.node_affinity.required
    reference = spec.claim_ref
    driver, handle = _translate_source(api)
    return PersistentVolume(
        name=metadata.name,
        resource_version=metadata.resource_version,
        labels=metadata.labels or {},
        capacity_bytes=decode_bytes((spec.capacity or {}).get(_STORAGE), "spec.capacity.storage") or 0,
        class_name=(metadata.annotations or {}).get(STORAGE_CLASS_ANNOTATION, spec.storage_class_name),
        access_modes=frozenset(spec.access_modes or ()),
        volume_mode=spec.volume_mode or _FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        node_affinity=decode_node_selector(required) if required else None,
        claim_ref=ClaimRef(reference.namespace, reference.name, reference.uid) if reference else None,
        phase=api.status.phase,
        terminating=metadata.deletion_timestamp is not None,
        csi_driver=driver,
        csi_handle=handle,
        in_tree=bool(driver) and spec.csi is None,
    )


VOLUME_DECODERS: Mapping[str, Callable[[bytes], object]] = {
    "PersistentVolumeClaim": decode_persistent_volume_claim,
    "PersistentVolume": decode_persistent_volume,
}
"""Decoders by kind."""
VOLUME_STRUCTS: Mapping[str, type[Struct]] = {
    "PersistentVolumeClaim": ApiClaim,
    "PersistentVolume": ApiPersistentVolume,
}
"""The struct with the fields that the decoder of a kind reads, by kind."""
VOLUME_ANNOTATIONS = frozenset({_BIND_COMPLETED, NODE_ANNOTATION, STORAGE_CLASS_ANNOTATION})
"""The annotations that the decoders read."""


def _translate_source(api: ApiPersistentVolume) -> tuple[str, str]:
    """Return the CSI driver and handle, translated for an in-tree volume; empty strings for other volumes."""
    spec = api.spec
    if spec.csi:
        return spec.csi.driver, spec.csi.volume_handle
    if spec.aws_elastic_block_store:
        return AWS_EBS_DRIVER, ebs_volume_id(spec.aws_elastic_block_store.volume_id)
    if spec.gce_persistent_disk:
        labels = api.metadata.labels or {}
        zone = labels.get("failure-domain.beta.kubernetes.io/zone") or labels.get("topology.kubernetes.io/zone")
        return GCE_PD_DRIVER, gce_volume_handle(spec.gce_persistent_disk.pd_name, zone)
    if spec.azure_disk:
        return AZURE_DISK_DRIVER, spec.azure_disk.disk_uri
    return "", ""
