"""Placed pods by the claims and in-tree disks that they use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod

Disk = tuple[str, ...]
"""The identity of an in-tree disk, see `PodVolume.disk`."""


class VolumeUsers:
    """Placed pods by claim (`namespace/name`) and by in-tree disk; only the columns write to it."""

    def __init__(self) -> None:
        self._claims: dict[str, dict[str, Pod]] = {}
        self._disks: dict[Disk, dict[str, dict[str, Pod]]] = {}

    def add(self, pod: Pod, node_name: str) -> None:
        """Add a pod that is placed on a node."""
        for key in claim_keys(pod):
            self._claims.setdefault(key, {})[pod.uid] = pod
        for disk in _disks(pod):
            self._disks.setdefault(disk, {}).setdefault(node_name, {})[pod.uid] = pod

    def remove(self, pod: Pod, node_name: str) -> None:
        """Remove a pod that was added."""
        for key in claim_keys(pod):
            users = self._claims.get(key, {})
            users.pop(pod.uid, None)
            if not users:
                self._claims.pop(key, None)
        for disk in _disks(pod):
            nodes = self._disks.get(disk, {})
            on_node = nodes.get(node_name, {})
            on_node.pop(pod.uid, None)
            if not on_node:
                nodes.pop(node_name, None)
            if not nodes:
                self._disks.pop(disk, None)

    def claim_users(self, claim_key: str) -> Collection[Pod]:
        """Return the placed pods that use a claim."""
        return self._claims.get(claim_key, {}).values()

    def disk_users(self, disk: Disk) -> Mapping[str, Collection[Pod]]:
        """Return the placed pods that mount a disk, by node name."""
        return {node_name: users.values() for node_name, users in self._disks.get(disk, {}).items()}


def claim_keys(pod: Pod) -> Iterator[str]:
    """Yield the keys of the pod's claims, except claims of ephemeral volumes, which other pods cannot use."""
    for volume in pod.shape.volumes:
        if volume.claim_name:
            yield f"{pod.namespace}/{volume.claim_name}"


def _disks(pod: Pod) -> Iterator[Disk]:
    for volume in pod.shape.volumes:
        if volume.disk is not None:
            yield volume.disk
