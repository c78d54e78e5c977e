"""VolumeRestrictions: what may not be mounted twice.

A legacy disk is not mounted by two pods of a node unless both only read; a claim with the access mode
ReadWriteOncePod is not used by two pods at all.

Upstream: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, unresolvable
from moorage.model.volumes.storage_objects import READ_WRITE_ONCE_POD

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
    """The pod's claims that only one pod may use (names), and how often placed pods use them."""

    names: frozenset[str]
    uses: int


class VolumeRestrictions(PreFilterPlugin[ExclusiveClaims], FilterPlugin[ExclusiveClaims]):
    """Filters by disks and claims that others have mounted."""

    without_pre_filter: ClassVar[str] = 'cannot read "PreFilterVolumeRestrictions" from cycleState'
    interests: ClassVar[frozenset[str]] = frozenset({"Pod", "Node", "PersistentVolumeClaim"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip pods without volumes."""
        return not shape.volumes

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[ExclusiveClaims]:
        """Look for exclusive claims in use; SKIP where nothing can conflict."""
        names: set[str] = set()
        claims = snapshot.objects("PersistentVolumeClaim")
        for name in _claim_names(pod):
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
        """Count the exclusive claims that `other` uses."""
        del pod, nodes
        return _changed(state, other, 1)

    def remove_pod(self, state: ExclusiveClaims, pod: Pod, other: Pod, nodes: Snapshot) -> ExclusiveClaims:
        """Count the exclusive claims out that `other` uses."""
        del pod, nodes
        return _changed(state, other, -1)

    def filter(self, state: ExclusiveClaims, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes without a conflicting disk, and none at all while an exclusive claim is in use."""
        taken = _disk_taken(pod, nodes)
        free = np.full(nodes.size, state.uses <= 0)

        def rejections() -> Sequence[Rejection]:
            return Rejection(taken, DISK_REASON), Rejection(~taken & ~free, CLAIM_REASON)

        return FilterResult(~taken & free, rejections)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether a pod with the same disk or claim went, a claim of the pod came, or a node did."""
        if event.kind == "Pod":
            other: Pod = event.old
            return event.action is Action.DELETE and other.namespace == pod.namespace and _share(pod, other)
        if event.action is not Action.ADD:
            return False
        if event.kind == "PersistentVolumeClaim":
            return event.new.namespace == pod.namespace and event.new.name in _claim_names(pod)
        return True


def _claim_names(pod: Pod) -> Iterable[str]:
    return [volume.claim_name for volume in pod.shape.volumes if volume.claim_name]


def _changed(state: ExclusiveClaims, other: Pod, change: int) -> ExclusiveClaims:
    """Count what another pod uses; like kube-scheduler, by the claims' names whatever the namespace."""
    uses = sum(name in state.names for name in _claim_names(other))
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
    """Whether a pod mounts the same disk in a way that excludes the volume."""
    return any(_exclude(volume, other) for other in user.shape.volumes if other.disk == volume.disk)


def _exclude(one: PodVolume, other: PodVolume) -> bool:
    assert one.disk is not None
    kind = one.disk[0]
    if kind == "rbd" and not one.monitors & other.monitors:
        return False
    return kind == "aws" or not (one.read_only and other.read_only)


def _share(pod: Pod, other: Pod) -> bool:
    """Whether two pods cannot share a node by their disks, or name the same claim."""
    if any(volume.disk and _conflict(volume, other) for volume in pod.shape.volumes):
        return True
    return not set(_claim_names(pod)).isdisjoint(_claim_names(other))
