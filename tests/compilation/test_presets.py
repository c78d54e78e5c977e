"""A preset sets fields of the spec. Fields that the policy itself sets take precedence."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.compilation.presets import PRESETS, expand_preset


def expanded(**spec: Any) -> SchedulingPolicySpec:
    return expand_preset(SchedulingPolicySpec.model_validate(spec))


def test_default_sets_no_fields() -> None:
    assert expanded() == SchedulingPolicySpec()


def test_bin_pack_packs_and_turns_the_balance_score_off() -> None:
    spec = expanded(preset="BinPack")
    assert spec.resources.strategy == "MostAllocated"
    assert spec.weights == {"NodeResourcesFit": 5, "NodeResourcesBalancedAllocation": 0}


def test_a_field_of_the_policy_replaces_only_the_same_field_of_the_preset() -> None:
    spec = expanded(preset="BinPack", weights={"NodeResourcesFit": 2}, resources={"weights": {"cpu": 3}})
    assert spec.weights == {"NodeResourcesFit": 2, "NodeResourcesBalancedAllocation": 0}
    assert spec.resources.strategy == "MostAllocated"
    assert spec.resources.weights == {"cpu": 3}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_equal_to_a_policy_that_sets_its_fields(preset: str) -> None:
    by_name, by_hand = expanded(preset=preset), expanded(**PRESETS[preset])  # type: ignore[index]
    assert by_name.model_copy(update={"preset": "Default"}) == by_hand
