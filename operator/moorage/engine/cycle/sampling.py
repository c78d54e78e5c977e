"""Sampling: in a large cluster, a cycle ends the search as soon as enough nodes fit.

Upstream: pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, findNodesThatPassFilters).
"""

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import BoolArray, IntArray

MIN_FEASIBLE_NODES = 100
"""The search ends only when at least this number of nodes fit. A smaller cluster is searched completely."""
MIN_PERCENTAGE = 5
BASE_PERCENTAGE = 50
NODES_PER_PERCENT = 125
"""The default percentage is BASE_PERCENTAGE, minus 1 for every NODES_PER_PERCENT nodes of the cluster."""
ALL = 100


class Sample(Struct, frozen=True):
    """The nodes that fit, by position, and the number of nodes that the search went through."""

    positions: IntArray
    evaluated: int


def nodes_to_find(nodes: int, percentage: int) -> int:
    """Return how many nodes must fit before the search ends.

    If `percentage` is 0, the percentage depends on the cluster's size.
    """
    if nodes < MIN_FEASIBLE_NODES or percentage >= ALL:
        return nodes
    percentage = percentage or max(MIN_PERCENTAGE, BASE_PERCENTAGE - nodes // NODES_PER_PERCENT)
    return max(MIN_FEASIBLE_NODES, nodes * percentage // 100)


def sample(feasible: BoolArray, order: IntArray, start: int, wanted: int) -> Sample:
    """Return the first `wanted` nodes that fit, in the circular order `order` from index `start`."""
    size = len(order)
    if wanted >= size:
        return Sample(np.flatnonzero(feasible), size)
    start %= size
    ahead = order[start : start + 2 * wanted]  # usually enough, because most nodes fit
    (hits,) = feasible[ahead].nonzero()
    if len(hits) < wanted:
        ahead = np.concatenate((order[start:], order[:start]))
        (hits,) = feasible[ahead].nonzero()
    if len(hits) < wanted:
        return Sample(ahead[hits], size)
    hits = hits[:wanted]
    return Sample(ahead[hits], int(hits[-1]) + 1)
