"""Sums over topology domains, against the plainest loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.framework.domains import spread_to_nodes, sum_by_domain


@given(nodes=st.lists(st.tuples(st.integers(-1, 4), st.integers(-100, 10**12))), absent=st.integers(-1, 1))
def test_sums_by_domain_and_back(nodes: list[tuple[int, int]], absent: int) -> None:
    ids = np.array([domain for domain, _ in nodes], dtype=np.int32)
    counts = np.array([count for _, count in nodes], dtype=np.int64)
    sums = sum_by_domain(ids, counts, 5)
    expected = [sum(count for domain, count in nodes if domain == each) for each in range(5)]
    assert sums.tolist() == expected
    assert sums.dtype == np.int64
    assert spread_to_nodes(ids, sums, absent).tolist() == [absent if each < 0 else expected[each] for each, _ in nodes]


def test_without_domains_every_node_is_absent() -> None:
    ids = np.array([-1, -1], dtype=np.int32)
    counts = np.array([3, 4], dtype=np.int64)
    sums = sum_by_domain(ids, counts, 0)
    assert sums.tolist() == []
    assert spread_to_nodes(ids, sums).tolist() == [0, 0]
