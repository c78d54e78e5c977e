"""Matches claims that wait for their first consumer with existing volumes, for each node.

The smallest claim is matched first. Each claim gets the smallest volume that it can use on the node. Two claims never
get the same volume on a node. If a volume is reserved for a claim, the claim gets only this volume.

Upstream: `findMatchingVolumes` in volumebinding/binder.go; `FindMatchingVolume` in component-helpers/storage/volume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moorage.plugins.shared.node_reach import NodeReach

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim

NO_VOLUME = -1
"""The entry for nodes on which the claim gets no existing volume."""


@dataclass(frozen=True, slots=True)
class VolumeMatch:
    """The volumes that were chosen for a claim. For each node, an index into `volumes`, or NO_VOLUME."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    chosen: IntArray

    @property
    def found(self) -> BoolArray:
        """The nodes with a volume for the claim."""
        found: BoolArray = self.chosen != NO_VOLUME
        return found


def match_claims(
    claims: Iterable[PersistentVolumeClaim], volumes: Sequence[PersistentVolume], nodes: Snapshot
) -> list[VolumeMatch]:
    """Choose volumes for the claims; return one match for each claim, smallest claim first.

    Among volumes of the same size, the first one is chosen.
    """
    reach = NodeReach(nodes)
    matches: list[VolumeMatch] = []
    for claim in sorted(claims, key=lambda each: each.request_bytes or 0):
        reserved = next((index for index, volume in enumerate(volumes) if _is_reserved(volume, claim)), None)
        candidates = _candidates(claim, volumes) if reserved is None else [reserved]
        matches.append(VolumeMatch(claim, volumes, _choose(candidates, volumes, reach, matches)))
    return matches


def _choose(
    candidates: Sequence[int], volumes: Sequence[PersistentVolume], reach: NodeReach, earlier: Sequence[VolumeMatch]
) -> IntArray:
    """Return, for each node, the first usable candidate that no earlier match has chosen on the node."""
    chosen = np.full(reach.size, NO_VOLUME, np.int64)
    offers = list(_first_of_each_group(candidates, volumes, reach, len(earlier) + 1))
    if not offers:
        return chosen
    positions = np.concatenate([where for _, where in offers])
    indices = np.repeat([index for index, _ in offers], [len(where) for _, where in offers])
    for match in earlier:
        free = match.chosen[positions] != indices
        positions, indices = positions[free], indices[free]
    nodes, firsts = np.unique(positions, return_index=True)
    chosen[nodes] = indices[firsts]
    return chosen


def _first_of_each_group(
    candidates: Iterable[int], volumes: Sequence[PersistentVolume], reach: NodeReach, limit: int
) -> Iterator[tuple[int, IntArray]]:
    """Yield candidates with the positions of their nodes. Yield at most `limit` candidates with the same nodes."""
    seen: Counter[int] = Counter()
    for index in candidates:
        group = reach.group(volumes[index].node_affinity)
        seen[group] += 1
        if seen[group] <= limit:
            yield index, reach.positions(group)


def _is_reserved(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume's claimRef names the claim and the volume has the properties of the claim."""
    reference = volume.claim_ref
    if reference is None or (reference.namespace, reference.name) != (claim.namespace, claim.name):
        return False
    return reference.uid in {"", claim.uid} and _suits(volume, claim)


def _candidates(claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume]) -> list[int]:
    """Return the free volumes that the claim can use, smallest first."""
    usable = [
        index
        for index, volume in enumerate(volumes)
        if volume.claim_ref is None
        and volume.phase == "Available"
        and claim.access_modes <= volume.access_modes
        and (claim.selector is None or claim.selector.matches(volume.labels))
        and _suits(volume, claim)
    ]
    return sorted(usable, key=lambda index: volumes[index].capacity_bytes)


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume has the properties that the claim requests."""
    return (
        volume.class_name == claim.class_name
        and volume.capacity_bytes >= (claim.request_bytes or 0)
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and not volume.terminating
    )
