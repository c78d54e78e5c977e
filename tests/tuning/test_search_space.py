"""Each policy that a search suggests compiles. The search tries only fields that fit the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.v1alpha1 import parse_policy
from moorage.compilation.policy_profile import build_policy_profile
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry
from moorage.simulator.file_objects import GPU
from moorage.simulator.node_file import FileNode
from moorage.tuning.search_space import SpaceFacts, known_choices, manifest_of, suggest_spec

REGISTRY = Registry.discover()
EVERYTHING = SpaceFacts(has_gpus=True, has_zones=True, has_lifecycles=True)
NOTHING = SpaceFacts(has_gpus=False, has_zones=False, has_lifecycles=False)


class DrawnChoices:
    """A suggester that hypothesis drives. It records the names of the searched fields."""

    def __init__(self, data: st.DataObject) -> None:
        self.names: list[str] = []
        self._data = data

    def suggest_int(self, name: str, low: int, high: int) -> int:
        self.names.append(name)
        return self._data.draw(st.integers(low, high), name)

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        self.names.append(name)
        return self._data.draw(st.sampled_from(choices), name)


class FixedChoices:
    """A suggester with given choices. For all other fields, it suggests the lowest or the first choice."""

    def __init__(self, choices: dict[str, Any]) -> None:
        self.unused = dict(choices)

    def suggest_int(self, name: str, low: int, high: int) -> int:
        value: int = self.unused.pop(name, low)
        assert low <= value <= high
        return value

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        value = self.unused.pop(name, choices[0])
        assert value in choices
        return value


@given(st.data(), st.builds(SpaceFacts, st.booleans(), st.booleans(), st.booleans()))
def test_every_suggested_policy_compiles(data: st.DataObject, facts: SpaceFacts) -> None:
    base = {"preset": "BinPack", "filters": {"zones": {"deny": ["z"]}}, "weights": {"ImageLocality": 0}}
    choices = DrawnChoices(data)

    spec = suggest_spec(choices, base, facts)

    build_policy_profile(parse_policy(manifest_of("p", spec)), REGISTRY, ProfileSettings())
    assert (spec["preset"], spec["filters"]) == (base["preset"], base["filters"])
    assert spec["weights"]["ImageLocality"] == 0
    assert len(choices.names) == len(set(choices.names))


@given(st.data())
def test_fields_are_not_searched_if_no_node_has_what_they_rank(data: st.DataObject) -> None:
    spec = suggest_spec(DrawnChoices(data), {}, NOTHING)
    assert set(spec) == {"resources", "weights"}
    assert GPU not in spec["resources"]["weights"]


@pytest.mark.parametrize("facts", [EVERYTHING, NOTHING])
def test_a_search_begins_with_choices_that_exist(facts: SpaceFacts) -> None:
    for choices in known_choices(facts):
        fixed = FixedChoices(choices)
        suggest_spec(fixed, {}, facts)
        assert fixed.unused == {}


def test_arguments_of_other_plugins_are_kept() -> None:
    other = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 2}}
    base = {"pluginConfig": [other, {"name": "NodeResourcesBalancedAllocation", "args": {}}]}
    spec = suggest_spec(FixedChoices({"balance GPUs": True}), base, EVERYTHING)
    assert spec["pluginConfig"][0] == other
    assert [each["name"] for each in spec["pluginConfig"]] == ["InterPodAffinity", "NodeResourcesBalancedAllocation"]


def test_facts_describe_the_nodes() -> None:
    assert SpaceFacts.of([FileNode("a", 1, 1, gpu=1, zone="x"), FileNode("b", 1, 1, zone="y", lifecycle="spot")]) == (
        EVERYTHING
    )
    assert SpaceFacts.of([FileNode("a", 1, 1, zone="x", lifecycle="spot")]) == NOTHING
