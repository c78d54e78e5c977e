"""The volumes that a pod's claims have or can get on each node.

Upstream: `FindPodVolumes` in volumebinding/binder.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.node_selectors import matches_selector
from moorage.plugins.shared.volume_matching import VolumeMatch, match_claims
from moorage.plugins.shared.volume_provisioning import can_be_provisioned, has_space

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
    from moorage.plugins.shared.pod_volume_claims import PodVolumeClaims


@dataclass(frozen=True, slots=True, eq=False)
class PodVolumes:
    """The nodes on which the pod cannot use its claims, and the volumes that delayed claims would get on each node."""

    affinity_conflict: BoolArray
    """Nodes that do not match the node affinity of a bound volume."""
    cannot_bind: BoolArray
    """Nodes on which a delayed claim gets no volume."""
    no_space: BoolArray
    """Nodes whose storage lacks the capacity for a new volume."""
    missing_volume: BoolArray
    """Nodes that are rejected because a bound claim's volume does not exist."""
    matches: Sequence[VolumeMatch]
    selected: Sequence[PersistentVolumeClaim]
    """Claims with a selected node whose volumes are not provisioned yet."""


def find_pod_volumes(claims: PodVolumeClaims, nodes: Snapshot) -> PodVolumes:
    """Find the volumes for all claims on all nodes of the view."""
    affinity_conflict, missing_volume = _check_bound_claims(claims.bound, nodes)
    selected = [claim for claim in claims.delayed if claim.selected_node is not None]
    waiting = [claim for claim in claims.delayed if claim.selected_node is None]
    matches = match_claims(waiting, _volumes_of_classes(waiting, nodes), nodes) if waiting else []
    cannot_bind, no_space = _not_selected(selected, nodes), np.zeros(nodes.size, np.bool_)
    undecided = ~cannot_bind
    for claim, needed in (
        *((claim, undecided) for claim in selected),
        *((match.claim, ~match.found) for match in matches),
    ):
        refused = undecided & needed & ~can_be_provisioned(claim, nodes)
        short = undecided & needed & ~refused & ~has_space(claim, nodes)
        cannot_bind, no_space, undecided = cannot_bind | refused, no_space | short, undecided & ~refused & ~short
    return PodVolumes(affinity_conflict, cannot_bind, no_space, missing_volume, matches, selected)


def _check_bound_claims(claims: Iterable[PersistentVolumeClaim], nodes: Snapshot) -> tuple[BoolArray, BoolArray]:
    """Return the nodes with an affinity conflict, and the nodes that are rejected because of a missing volume."""
    conflict, missing = np.zeros(nodes.size, np.bool_), np.zeros(nodes.size, np.bool_)
    for claim in claims:
        volume = nodes.objects("PersistentVolume").get(claim.volume_name)
        if volume is None:
            return conflict, ~conflict
        if volume.node_affinity is not None:
            conflict |= ~matches_selector(volume.node_affinity, nodes)
    return conflict, missing


def _not_selected(claims: Iterable[PersistentVolumeClaim], nodes: Snapshot) -> BoolArray:
    """Return the nodes that differ from the selected node of at least one claim."""
    found = np.zeros(nodes.size, np.bool_)
    for claim in claims:
        selected = np.zeros(nodes.size, np.bool_)
        position = nodes.position(claim.selected_node or "")
        if position is not None:
            selected[position] = True
        found |= ~selected
    return found


def _volumes_of_classes(claims: Iterable[PersistentVolumeClaim], nodes: Snapshot) -> list[PersistentVolume]:
    """Return all volumes of the claims' classes, sorted by name."""
    classes = {claim.class_name for claim in claims}
    volumes = (volume for volume in nodes.objects("PersistentVolume").values() if volume.class_name in classes)
    return sorted(volumes, key=lambda volume: volume.name)
