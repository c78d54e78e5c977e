"""Scores that follow from what is in use on each node, kept from one pod of a shape to the next.

Between two decisions few nodes change: as a rule the one that the last pod went to. They are scored again together, as
soon as one of them is among the nodes that are asked about: where cycles look at a part of the cluster in turn, that is
once a round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.arrays import IntArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.framework.snapshot import Snapshot

FEW_NODES = 200
"""Up to here, to score all nodes of a view costs no more than to find out which ones of the cluster changed."""
WORTHWHILE = 8
"""Where more than one node in this many changed, all are scored anew: gathering them costs more than it saves."""


class RememberedScores:
    """The scores of all nodes of a cluster, for one shape and as long as no node comes, goes or is changed itself.

    `compute` is given a view and returns its scores. A node's score must depend on nothing but the pods that it has,
    and what is fixed for a generation of nodes.
    """

    def __init__(self, compute: Callable[[Snapshot], IntArray]) -> None:
        self._compute = compute
        self._scores: IntArray | None = None
        self._generation = 0
        """Of pods: that of the scores."""

    def of(self, nodes: Snapshot) -> IntArray:
        """Return the scores of a view's nodes; the array is never written again."""
        if nodes.size <= FEW_NODES:  # a what-if view, with pods of its own, always is that small
            return self._compute(nodes)
        cluster = nodes.cluster
        scores = self._scores
        if scores is None or nodes.last_pod_generation > self._generation:
            scores = self._scores = self._brought_up_to_date(scores, cluster)
            self._generation = cluster.generations.pods
        return nodes.gather(scores)

    def _brought_up_to_date(self, scores: IntArray | None, cluster: Snapshot) -> IntArray:
        (changed,) = (cluster.pod_generations > self._generation).nonzero()
        if scores is None or changed.size * WORTHWHILE > cluster.size:
            return self._compute(cluster)
        scores = scores.copy()
        scores[changed] = self._compute(cluster.take(changed))
        return scores
