"""Sums over topology domains: nodes that share a label's value."""

from __future__ import annotations

import numpy as np

from moorage.cluster.arrays import ABSENT, IdArray, IntArray


def sum_by_domain(ids: IdArray, counts: IntArray, size: int) -> IntArray:
    """Sum counts of nodes by domain; nodes in no domain are left out. The result has `size` entries."""
    if len(ids) and ids.min() == ABSENT:
        inside = ids != ABSENT
        ids, counts = ids[inside], counts[inside]
    sums = np.bincount(ids, weights=counts, minlength=size)
    return sums.astype(np.int64)  # sums of counts stay far below 2**53, where doubles are exact
