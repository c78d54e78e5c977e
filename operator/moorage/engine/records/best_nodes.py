"""The nodes with the highest totals."""

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.engine.records.decision_record import MAX_NODES


def best_nodes(total: IntArray, chosen: int) -> IntArray:
    """Return at most MAX_NODES positions: first the chosen node, then the nodes with the highest totals.

    Among nodes with equal totals, the lowest positions come first.
    """
    found = np.arange(total.size)
    if total.size > MAX_NODES:
        count = total.size - MAX_NODES
        lowest = np.partition(total, count)[count]
        (found,) = (total > lowest).nonzero()
        (equal,) = (total == lowest).nonzero()
        found = np.concatenate((found, equal[: MAX_NODES - found.size]))
        if chosen not in found:  # more than MAX_NODES nodes have the highest total
            found[-1] = chosen
    order = np.lexsort((found, -total[found], found != chosen))
    best: IntArray = found[order]
    return best
