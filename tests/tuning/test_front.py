"""The policies of a Pareto front that are judged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.tuning.search import FoundPolicy, spread_over

FIGURES = st.integers(0, 5).map(float)
FRONTS = st.lists(st.tuples(FIGURES, FIGURES, FIGURES), unique=True, max_size=30).map(
    lambda rows: [FoundPolicy(number, {}, row) for number, row in enumerate(sorted(rows))]
)


@given(FRONTS, st.integers(3, 8))
def test_the_judged_policies_contain_the_best_of_each_figure(front: list[FoundPolicy], count: int) -> None:
    chosen = spread_over(front, count)
    assert len(chosen) == min(count, len(front))
    assert chosen == [each for each in front if each in chosen]
    for column in range(3 if front else 0):
        assert min(each.values[column] for each in chosen) == min(each.values[column] for each in front)
