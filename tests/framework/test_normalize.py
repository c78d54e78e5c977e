import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.framework.normalize import default_normalize


@given(st.lists(st.integers(0, 10**6), max_size=6), st.booleans())
def test_normalize_scales_the_highest_score_to_100_and_rounds_down(raw: list[int], reverse: bool) -> None:  # noqa: FBT001
    highest = max(raw, default=0)
    scaled = [100 * score // highest if highest else 0 for score in raw]

    found = default_normalize(np.array(raw, dtype=np.int64), reverse=reverse)

    assert found.tolist() == ([100 - score for score in scaled] if reverse else scaled)
