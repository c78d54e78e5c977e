"""Sums over topology domains agree with a plain loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.terms.domain_sums import sum_by_domain


@given(nodes=st.lists(st.tuples(st.integers(-1, 4), st.integers(-100, 10**12))))
def test_sums_agree_with_a_plain_loop(nodes: list[tuple[int, int]]) -> None:
    ids = np.array([domain for domain, _ in nodes], dtype=np.int32)
    counts = np.array([count for _, count in nodes], dtype=np.int64)
    sums = sum_by_domain(ids, counts, 5)
    expected = [sum(count for domain, count in nodes if domain == each) for each in range(5)]
    assert sums.tolist() == expected
    assert sums.dtype == np.int64


def test_sums_leave_out_nodes_without_a_domain() -> None:
    ids = np.array([-1, -1], dtype=np.int32)
    counts = np.array([3, 4], dtype=np.int64)
    assert sum_by_domain(ids, counts, 0).tolist() == []
