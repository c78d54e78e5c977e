"""Which volume a claim that waits for its first consumer gets on each node.

For every node the smallest volume that the claim can use there is chosen, smaller claims first; a volume is chosen once
a node. A volume that somebody has kept for the claim wins, and rules out nodes that it cannot be used on.

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
"""The choice on a node where the claim gets no volume that is there already."""


@dataclass(frozen=True, slots=True)
class Match:
    """The volumes chosen for a claim: by node the index of one of `volumes`, or NO_VOLUME."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    chosen: IntArray

    @property
    def found(self) -> BoolArray:
        """Which nodes have a volume for the claim."""
        found: BoolArray = self.chosen != NO_VOLUME
        return found


def match_claims(
    claims: Iterable[PersistentVolumeClaim], volumes: Sequence[PersistentVolume], nodes: Snapshot
) -> list[Match]:
    """Choose volumes for the claims, which are returned in the order in which they were served.

    Of volumes of one size the first one wins.
    """
    reach = NodeReach(nodes)
    matches: list[Match] = []
    for claim in sorted(claims, key=lambda each: each.request_bytes or 0):
        kept = next((index for index, volume in enumerate(volumes) if _is_kept(volume, claim)), None)
        candidates = _candidates(claim, volumes) if kept is None else [kept]
        matches.append(Match(claim, volumes, _choose(candidates, volumes, reach, matches)))
    return matches


def _choose(
    candidates: Sequence[int], volumes: Sequence[PersistentVolume], reach: NodeReach, earlier: Sequence[Match]
) -> IntArray:
    """Return for each node the first candidate that can be used there and that no earlier match has chosen there."""
    chosen = np.full(reach.size, NO_VOLUME, np.int64)
    offers = list(_few_of_each_group(candidates, volumes, reach, len(earlier) + 1))
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


def _few_of_each_group(
    candidates: Iterable[int], volumes: Sequence[PersistentVolume], reach: NodeReach, enough: int
) -> Iterator[tuple[int, IntArray]]:
    """Yield candidates with the nodes that they can be used on: of those for the same nodes no more than `enough`."""
    seen: Counter[int] = Counter()
    for index in candidates:
        group = reach.group(volumes[index].node_affinity)
        seen[group] += 1
        if seen[group] <= enough:
            yield index, reach.positions(group)


def _is_kept(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
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
    """Whether the volume is what the claim asks for; one that is kept for it has to be that, too."""
    return (
        volume.class_name == claim.class_name
        and volume.capacity_bytes >= (claim.request_bytes or 0)
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and not volume.terminating
    )
