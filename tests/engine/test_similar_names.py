"""The search for similar names agrees with a slow search that makes all edits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.engine.similar_names import SimilarNames, are_similar

LETTERS = "ab-"
names = st.text(LETTERS, min_size=1, max_size=6)


def edits_of(name: str) -> set[str]:
    """Return all names that one edit makes of a name."""
    splits = [(name[:index], name[index:]) for index in range(len(name) + 1)]
    deleted = {left + right[1:] for left, right in splits if right}
    inserted = {left + letter + right for left, right in splits for letter in LETTERS}
    replaced = {left + letter + right[1:] for left, right in splits if right for letter in LETTERS}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1}
    return (deleted | inserted | replaced | swapped) - {name}


@given(names, names)
def test_names_are_similar_if_one_edit_makes_them_equal(one: str, other: str) -> None:
    assert are_similar(one, other) == (other in edits_of(one))


@given(st.sets(names, max_size=8), st.sets(names, max_size=4), names)
def test_find_returns_the_alphabetically_first_similar_name(added: set[str], removed: set[str], wanted: str) -> None:
    similar = SimilarNames()
    for name in added:
        similar.add(name)
    for name in removed:
        similar.discard(name)
    assert similar.find(wanted) == min((added - removed) & edits_of(wanted), default="")


@pytest.mark.parametrize("typo", ["gpu-trainin", "gpu-trainning", "gpu_training", "gpu-trianing", "Gpu-training"])
def test_find_returns_the_name_for_common_typing_errors(typo: str) -> None:
    similar = SimilarNames()
    similar.add("gpu-training")
    assert similar.find(typo) == "gpu-training"


def test_find_returns_nothing_for_a_name_that_is_too_long_for_a_policy() -> None:
    similar = SimilarNames()
    similar.add("x" * 63)
    assert similar.find("x" * 64) == "x" * 63
    assert similar.find("x" * 100_000) == ""
