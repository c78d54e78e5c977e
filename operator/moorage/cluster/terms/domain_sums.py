"""Sums over topology domains. A domain is the set of nodes that share a value of a label."""

from __future__ import annotations

import numpy as np

from moorage.cluster.arrays import ABSENT, IdArray, IntArray


def sum_by_domain(ids: IdArray, counts: IntArray, size: int) -> IntArray:
    """Return the sum of counts for each domain id below `size`; nodes with the id ABSENT do not count."""
    if len(ids) and ids.min() == ABSENT:
        inside = ids != ABSENT
        ids, counts = ids[inside], counts[inside]
    sums = np.bincount(ids, weights=counts, minlength=size)
    return sums.astype(np.int64)  # exact: doubles represent integers up to 2**53, and pod counts are far smaller
