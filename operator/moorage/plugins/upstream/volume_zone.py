"""VolumeZone: rejects nodes outside the zones and regions of the pod's bound volumes.

This plugin reads the labels of volumes; VolumeBinding reads their node affinity.

Upstream: `pkg/scheduler/framework/plugins/volumezone/volume_zone.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from moorage.cluster.arrays import ABSENT
from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, Code, Status, unresolvable
from moorage.model.volumes.storage_objects import WAIT_FOR_FIRST_CONSUMER
from moorage.plugins.shared.pod_volume_claims import named_claims

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim

REASON = "node(s) had no available volume zone"

SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""The beta labels, and for each the label that replaced it."""

TOPOLOGY_LABELS = (*SUCCESSORS, *SUCCESSORS.values())
ZONE_DELIMITER = "__"
"""The separator of zones in the label value of a regional volume."""


@dataclass(frozen=True, slots=True)
class VolumeTopology:
    """A topology label of a volume, and its values. A node must have one of these values."""

    key: str
    values: frozenset[str]


class VolumeZone(PreFilterPlugin[tuple[VolumeTopology, ...]], FilterPlugin[tuple[VolumeTopology, ...]]):
    """Filters nodes by the zones and regions of bound volumes."""

    interests: ClassVar[frozenset[str]] = frozenset(
        {"Node", "StorageClass", "PersistentVolumeClaim", "PersistentVolume"}
    )

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no volumes."""
        return not shape.volumes

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[tuple[VolumeTopology, ...]]:
        """Collect the topology labels of the pod's volumes; SKIP if there are none."""
        found, rejection = _collect(pod, snapshot)
        if rejection is not None:
            return PreFilterResult(rejection)
        return PreFilterResult(state=found) if found else PreFilterResult(SKIP)

    def filter(self, state: tuple[VolumeTopology, ...] | None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that are in a zone and region of each volume, and nodes without topology labels.

        If the profile disables PreFilter, collect the topology labels here, like upstream.
        """
        if state is None:
            state, rejection = _collect(pod, nodes)
            if rejection is not None:
                all_nodes = np.ones(nodes.size, np.bool_)
                rejections = [Rejection(all_nodes, reason, rejection.code) for reason in rejection.reasons]
                return FilterResult(~all_nodes, lambda: rejections)
        labelled = np.zeros(nodes.size, np.bool_)
        for key in TOPOLOGY_LABELS:
            labelled |= nodes.label(key).ids != ABSENT
        passed = ~labelled
        if labelled.any():
            matching = np.ones(nodes.size, np.bool_)
            for each in state:
                matching &= _in_topology(each, nodes)
            passed = passed | matching
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a change of a claim, a storage class, a volume or a node may help the pod."""
        match event.kind:
            case _ if event.action is Action.DELETE:
                return False
            case "StorageClass":
                is_delayed = event.new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
                return event.action is Action.ADD and is_delayed
            case "PersistentVolumeClaim":
                return event.new.namespace == pod.namespace and event.new.name in named_claims(pod)
            case "PersistentVolume":
                return event.old is None or list(_topology(event.old)) != list(_topology(event.new))
            case _:
                return event.old is None or event.old.labels != event.new.labels


def _collect(pod: Pod, snapshot: Snapshot) -> tuple[tuple[VolumeTopology, ...], Status | None]:
    """Return the topology labels of all bound volumes, or a rejection for the first unusable claim."""
    found: list[VolumeTopology] = []
    for name in named_claims(pod):
        claim = snapshot.objects("PersistentVolumeClaim").get(f"{pod.namespace}/{name}")
        if claim is None:
            return (), unresolvable(f'persistentvolumeclaim "{name}" not found')
        if not claim.volume_name:
            rejection = _reject_unbound(claim, snapshot)
            if rejection is not None:
                return (), rejection
            continue
        volume = snapshot.objects("PersistentVolume").get(claim.volume_name)
        if volume is None:
            return (), unresolvable(f'persistentvolume "{claim.volume_name}" not found')
        found += _topology(volume)
    return tuple(found), None


def _reject_unbound(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Status | None:
    """Return a rejection for an unbound claim; None if the claim waits for its first consumer."""
    if not claim.class_name:
        return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = snapshot.objects("StorageClass").get(claim.class_name)
    if storage_class is None:
        return unresolvable(f'storageclass.storage.k8s.io "{claim.class_name}" not found')
    if storage_class.volume_binding_mode is None:
        return unresolvable(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"')
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return unresolvable("PersistentVolume had no name")


def _topology(volume: PersistentVolume) -> Iterator[VolumeTopology]:
    for key in TOPOLOGY_LABELS:
        if key in volume.labels:
            values = frozenset(value.strip() for value in volume.labels[key].split(ZONE_DELIMITER))
            if "" not in values:  # upstream ignores labels with an empty zone
                yield VolumeTopology(key, values)


def _in_topology(topology: VolumeTopology, nodes: Snapshot) -> BoolArray:
    """Return the nodes with one of the values. If a node lacks a beta label, use the label that replaced it."""
    column = nodes.label(topology.key)
    matching = np.array([*(value in topology.values for value in column.values), False], np.bool_)[column.ids]
    successor = SUCCESSORS.get(topology.key)
    if successor is None:
        return matching
    without = column.ids == ABSENT
    return np.where(without, _in_topology(VolumeTopology(successor, topology.values), nodes), matching)
