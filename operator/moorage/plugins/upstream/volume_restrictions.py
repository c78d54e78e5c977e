"""VolumeRestrictions: rejects nodes because another pod uses the same disk or claim in a conflicting way.

Two pods on one node may mount the same in-tree disk only if both are read-only. Two pods may not use the same claim
with the access mode ReadWriteOncePod, even on different nodes.

Upstream: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, unresolvable
from moorage.model.volumes.storage_objects import READ_WRITE_ONCE_POD
from moorage.plugins.shared.pod_volume_claims import named_claims

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.pods.pod_volume import PodVolume

DISK_REASON = "node(s) had no available disk"
CLAIM_REASON = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


@dataclass(frozen=True, slots=True)
class ExclusiveClaims:
    """The names of the pod's ReadWriteOncePod claims, and how often placed pods use them."""

    names: frozenset[str]
    uses: int


class VolumeRestrictions(PreFilterPlugin[ExclusiveClaims], FilterPlugin[ExclusiveClaims]):
    """Filters nodes by disks and ReadWriteOncePod claims that other pods use."""

    without_pre_filter: ClassVar[str] = 'cannot read "PreFilterVolumeRestrictions" from cycleState'
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node", "PersistentVolumeClaim"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no volumes."""
        return not shape.volumes

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[ExclusiveClaims]:
        """Count the uses of exclusive claims; SKIP if no claim and no disk can conflict."""
        names: set[str] = set()
        claims = snapshot.objects("PersistentVolumeClaim")
        for name in named_claims(pod):
            claim = claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                return PreFilterResult(unresolvable(f'persistentvolumeclaim "{name}" not found'))
            if READ_WRITE_ONCE_POD in claim.access_modes:
                names.add(name)
        uses = sum(bool(snapshot.claim_users(f"{pod.namespace}/{name}")) for name in names)
        if not uses and not any(volume.disk for volume in pod.shape.volumes):
            return PreFilterResult(SKIP)
        return PreFilterResult(state=ExclusiveClaims(frozenset(names), uses))

    def add_pod(self, state: ExclusiveClaims, pod: Pod, other: Pod, nodes: Snapshot) -> ExclusiveClaims:
        """Add the exclusive claims that `other` uses."""
        del pod, nodes
        return _changed(state, other, 1)

    def remove_pod(self, state: ExclusiveClaims, pod: Pod, other: Pod, nodes: Snapshot) -> ExclusiveClaims:
        """Subtract the exclusive claims that `other` uses."""
        del pod, nodes
        return _changed(state, other, -1)

    def filter(self, state: ExclusiveClaims, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes without a conflicting disk. While an exclusive claim is in use, pass no node."""
        taken = _disk_taken(pod, nodes)
        free = np.full(nodes.size, state.uses <= 0)

        def rejections() -> Sequence[Rejection]:
            return Rejection(taken, DISK_REASON), Rejection(~taken & ~free, CLAIM_REASON)

        return FilterResult(~taken & free, rejections)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the event adds a node or a claim of the pod, or deletes a pod with the same disk or claim."""
        if event.kind == "Pod":
            other: Pod = event.old
            return event.action is Action.DELETE and other.namespace == pod.namespace and _conflicts_with(pod, other)
        if event.action is not Action.ADD:
            return False
        if event.kind == "PersistentVolumeClaim":
            return event.new.namespace == pod.namespace and event.new.name in named_claims(pod)
        return True


def _changed(state: ExclusiveClaims, other: Pod, change: int) -> ExclusiveClaims:
    """Count the claims of another pod by name. Like kube-scheduler, ignore the namespace of that pod."""
    uses = sum(name in state.names for name in named_claims(other))
    return replace(state, uses=state.uses + change * uses) if uses else state


def _disk_taken(pod: Pod, nodes: Snapshot) -> BoolArray:
    taken = np.zeros(nodes.size, np.bool_)
    for volume in pod.shape.volumes:
        if volume.disk is None:
            continue
        for node_name, users in nodes.disk_users(volume.disk).items():
            position = nodes.position(node_name)
            if position is not None and any(_conflict(volume, user) for user in users):
                taken[position] = True
    return taken


def _conflict(volume: PodVolume, user: Pod) -> bool:
    """Return whether a volume of the pod `user` excludes this volume, because both are the same disk."""
    return any(_exclude(volume, other) for other in user.shape.volumes if other.disk == volume.disk)


def _exclude(one: PodVolume, other: PodVolume) -> bool:
    """Return whether two volumes of the same disk cannot be mounted on one node."""
    assert one.disk is not None
    kind = one.disk[0]
    if kind == "rbd" and not one.monitors & other.monitors:
        return False
    return kind == "aws" or not (one.read_only and other.read_only)


def _conflicts_with(pod: Pod, other: Pod) -> bool:
    """Return whether the disks of two pods exclude each other, or both pods name the same claim."""
    if any(volume.disk and _conflict(volume, other) for volume in pod.shape.volumes):
        return True
    return not set(named_claims(pod)).isdisjoint(named_claims(other))
