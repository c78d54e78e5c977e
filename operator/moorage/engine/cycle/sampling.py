"""How many nodes are looked at: on large clusters a cycle ends as soon as enough nodes fit.

Upstream: pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, findNodesThatPassFilters).
"""

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import BoolArray, IntArray

MIN_FEASIBLE_NODES = 100
"""Below this many nodes, and until this many fit, all are looked at."""
MIN_PERCENTAGE = 5
BASE_PERCENTAGE = 50
NODES_PER_PERCENT = 125
"""Without a percentage of its own a profile starts at BASE_PERCENTAGE, and one less for every so many nodes."""
ALL = 100


class Sample(Struct, frozen=True):
    """The nodes that were found to fit, and how many were looked at to find them."""

    positions: IntArray
    evaluated: int


def nodes_to_find(nodes: int, percentage: int) -> int:
    """Return how many nodes have to fit before the search ends; `percentage` 0 adapts to the cluster's size."""
    if nodes < MIN_FEASIBLE_NODES or percentage >= ALL:
        return nodes
    percentage = percentage or max(MIN_PERCENTAGE, BASE_PERCENTAGE - nodes // NODES_PER_PERCENT)
    return max(MIN_FEASIBLE_NODES, nodes * percentage // 100)


def sample(feasible: BoolArray, order: IntArray, start: int, wanted: int) -> Sample:
    """Return the first nodes that fit, going round `order` from `start` on."""
    size = len(order)
    if wanted >= size:
        return Sample(np.flatnonzero(feasible), size)
    start %= size
    ahead = order[start : start + 2 * wanted]  # as a rule far enough: most nodes fit
    (hits,) = feasible[ahead].nonzero()
    if len(hits) < wanted:
        ahead = np.concatenate((order[start:], order[:start]))
        (hits,) = feasible[ahead].nonzero()
    if len(hits) < wanted:
        return Sample(ahead[hits], size)
    hits = hits[:wanted]
    return Sample(ahead[hits], int(hits[-1]) + 1)
