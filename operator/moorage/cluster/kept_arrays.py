"""KeptArrays: arrays over all nodes whose entries depend only on each node and its pods, kept between cycles.

Between two decisions few nodes change, usually only the node of the last pod. If a view contains a changed node, the
entries of all changed nodes of the cluster are computed again. If each cycle searches another part of the cluster, this
happens about once in each pass over all nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from moorage.cluster.nodes_view import NodesView

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot

FEW_NODES = 200
"""Computing the entries of at most this many nodes costs no more than finding the changed nodes of the cluster."""
WORTHWHILE = 8
"""If more than 1 of 8 nodes has changed, all entries are computed, because gathering the changed nodes costs more."""

Compute = Callable[["Snapshot"], tuple["IntArray", ...]]
"""Returns the entries of a view's nodes in new arrays."""


class KeptArrays:
    """The arrays; valid until any node object changes. Nobody may write to them."""

    def __init__(self) -> None:
        """Start without arrays."""
        self._arrays: tuple[IntArray, ...] | None = None
        self._generation = 0
        """The generation of pods that the arrays belong to."""

    def of(self, nodes: Snapshot, compute: Compute) -> tuple[IntArray, ...]:
        """Return the arrays over all nodes of the cluster. The entries of the view's nodes are up to date."""
        if self._arrays is None or nodes.last_pod_generation > self._generation:
            self._arrays = self._update(self._arrays, nodes.cluster, compute)
            self._generation = nodes.generations.pods
        return self._arrays

    def _update(self, arrays: tuple[IntArray, ...] | None, cluster: Snapshot, compute: Compute) -> tuple[IntArray, ...]:
        (changed,) = (cluster.pod_generations > self._generation).nonzero()
        if arrays is None or changed.size * WORTHWHILE > cluster.size:
            return compute(cluster)
        new = compute(NodesView(cluster, changed))
        return tuple(_patched(array, changed, entries) for array, entries in zip(arrays, new, strict=True))


def _patched(kept: IntArray, positions: IntArray, entries: IntArray) -> IntArray:
    patched = kept.copy()
    patched[positions] = entries
    return patched
