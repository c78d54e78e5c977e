"""Scores that follow from what is in use on each node, kept from one pod of a shape to the next.

Between two decisions few nodes change: as a rule the one that the last pod went to. To find out which ones, and to
score those, is many times cheaper than to score all of them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.framework.arrays import IntArray
    from moorage.framework.snapshot import Snapshot

FEW_NODES = 1500
"""Up to here, to score all nodes of a view costs no more than to find out which ones of the cluster changed."""
WORTHWHILE = 8
"""Where more than one node in this many changed, all are scored anew: gathering them costs more than it saves."""


class RememberedScores:
    """The scores of all nodes of a cluster, for one shape and as long as no node comes, goes or is changed itself.

    Both functions are given a view: `columns` returns what changes from pod to pod, `compute` the scores. A node's
    score must depend on its own entries in the columns only, and on what is fixed for a generation of nodes.
    """

    def __init__(
        self, columns: Callable[[Snapshot], Sequence[IntArray]], compute: Callable[[Snapshot], IntArray]
    ) -> None:
        self._columns = columns
        self._compute = compute
        self._seen: Sequence[IntArray] = ()
        self._scores: IntArray | None = None

    def of(self, nodes: Snapshot) -> IntArray:
        """Return the scores of a view's nodes; the array is never written again."""
        if nodes.size <= FEW_NODES:  # a what-if view always is that small
            return self._compute(nodes)
        cluster = nodes.cluster
        columns = self._columns(cluster)
        if self._scores is None:
            self._scores = self._compute_all(cluster, columns)
        else:
            self._scores = self._brought_up_to_date(self._scores, cluster, columns)
        return nodes.gather(self._scores)

    def _compute_all(self, cluster: Snapshot, columns: Sequence[IntArray]) -> IntArray:
        self._seen = [column.copy() for column in columns]
        return self._compute(cluster)

    def _brought_up_to_date(self, scores: IntArray, cluster: Snapshot, columns: Sequence[IntArray]) -> IntArray:
        if not columns:
            return scores
        differences = (column != seen for column, seen in zip(columns, self._seen, strict=True))
        (changed,) = reduce(np.logical_or, differences).nonzero()
        if not changed.size:
            return scores
        if changed.size * WORTHWHILE > cluster.size:
            return self._compute_all(cluster, columns)
        for column, seen in zip(columns, self._seen, strict=True):
            seen[changed] = column[changed]
        scores = scores.copy()
        scores[changed] = self._compute(cluster.take(changed))
        return scores
