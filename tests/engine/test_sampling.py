import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.engine.cycle.sampling import nodes_to_find, sample


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (99, 99),
        (100, 100),
        (250, 120),
        (500, 230),
        (1000, 420),
        (2500, 750),
        (5000, 500),
        (5625, 281),
        (6250, 312),
        (10000, 500),
    ],
)
def test_adaptive_percentage_finds_as_many_nodes_as_kube_scheduler(nodes: int, wanted: int) -> None:
    assert nodes_to_find(nodes, 0) == wanted


@pytest.mark.parametrize(("nodes", "percentage", "wanted"), [(1000, 20, 200), (400, 20, 100), (5000, 100, 5000)])
def test_percentage_of_a_profile_finds_at_least_a_hundred_nodes(nodes: int, percentage: int, wanted: int) -> None:
    assert nodes_to_find(nodes, percentage) == wanted


@given(
    feasible=st.lists(st.booleans(), min_size=1, max_size=30),
    start=st.integers(0, 100),
    wanted=st.integers(1, 30),
    seed=st.randoms(use_true_random=False),
)
def test_sample_equals_the_result_of_a_search_node_by_node(
    feasible: list[bool], start: int, wanted: int, seed: object
) -> None:
    size = len(feasible)
    order = list(range(size))
    seed.shuffle(order)  # type: ignore[attr-defined]
    found, looked_at = [], 0
    for step in range(size):
        position = order[(start + step) % size]
        looked_at += 1
        if feasible[position]:
            found.append(position)
            if len(found) == wanted:
                break
    taken = sample(np.array(feasible, np.bool_), np.array(order, np.int64), start, wanted)
    assert sorted(taken.positions.tolist()) == sorted(found)
    assert taken.evaluated == (size if wanted >= size else looked_at)
