"""compile_policy turns each field of a policy into plugins, arguments and settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from moorage.api.v1alpha1 import parse_policy
from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.compilation.compile import compile_policy
from moorage.errors import ConfigurationError, UnknownPlugin
from moorage.framework.extension_points import ScorePlugin
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.profile import ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "policies.md"
REGISTRY = Registry.discover()
PROCESS = ProfileSettings(percentage_of_nodes_to_score=20, initial_backoff_seconds=2.0, max_backoff_seconds=20.0)


def compiled(**spec: Any) -> ProfileSpec:
    return compile_policy(
        parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 3}, "spec": spec}), REGISTRY, PROCESS
    )


def arguments(profile: ProfileSpec, plugin: str) -> dict[str, Any]:
    return next((config.args for config in profile.plugin_config if config.name == plugin), {})


def filters(profile: ProfileSpec) -> list[str]:
    return [plugin.name for plugin in profile.plugins.filter.enabled]


def weights(profile: ProfileSpec) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in profile.plugins.score.enabled}


def test_an_empty_policy_is_the_default_profile_without_serverless_nodes() -> None:
    profile = compiled()
    assert profile.scheduler_name == "p"
    assert filters(profile) == ["ServerlessNodes"]
    assert weights(profile) == {}
    assert profile.plugin_config == ()
    assert profile.settings == PROCESS
    assert filters(compiled(filters={"serverlessNodes": "Allow"})) == []


def test_a_section_enables_its_plugin_with_the_default_weight() -> None:
    profile = compiled(instanceTypes={}, lifecycle={}, zones={}, gpu={})
    assert weights(profile) == {"InstanceType": 3, "Lifecycle": 5, "ZoneSpread": 2, "Gpu": 5}


def test_the_documentation_has_the_default_weights() -> None:
    table = re.findall(r"^\| ([A-Z][\w, ]+) \| (\d+) \|", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name: int(weight) for names, weight in table for name in names.split(", ")}
    declared = {plugin.__name__: plugin.default_weight for plugin in REGISTRY.policy_plugins() if plugin.policy_section}
    assert len(declared) == 5
    assert declared.items() <= documented.items()


class GpuPrices(PolicyPlugin, ScorePlugin[None]):
    """A plugin that declares its section. No code outside the plugin mentions it."""

    policy_section = "gpu"
    default_weight = 7

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        raise NotImplementedError


def test_a_section_enables_and_configures_the_plugin_that_declares_it() -> None:
    registry = Registry({"GpuPrices": GpuPrices})
    policy = parse_policy({"metadata": {"name": "p"}, "spec": {"gpu": {"podsWithGpu": "Spread"}}})
    profile = compile_policy(policy, registry, PROCESS)
    assert weights(profile) == {"GpuPrices": 7}
    assert arguments(profile, "GpuPrices") == {"podsWithGpu": "Spread"}
    assert profile.settings.percentage_of_nodes_to_score == 100


def test_a_plugin_class_cannot_be_defined_if_its_section_is_unknown() -> None:
    with pytest.raises(TypeError, match="plugin Misspelled: SchedulingPolicySpec has no field gpus"):

        class Misspelled(PolicyPlugin):
            policy_section = "gpus"


def test_a_weight_enables_a_plugin_without_a_section_and_weight_zero_disables_its_score() -> None:
    profile = compiled(weights={"Lifecycle": 7, "ImageLocality": 0, "NodeAffinity": 9}, gpu={})
    assert weights(profile) == {"Gpu": 5, "Lifecycle": 7, "NodeAffinity": 9}
    assert [plugin.name for plugin in profile.plugins.score.disabled] == ["ImageLocality"]
    assert weights(compiled(weights={"Gpu": 0}, gpu={})) == {}


def test_requirements_in_sections_enable_filters() -> None:
    profile = compiled(
        filters={"lifecycles": ["spot"], "instanceTypes": {"deny": ["r5*"]}},
        zones={"spread": "Require"},
        gpu={"podsWithoutGpu": "Forbid"},
    )
    assert filters(profile) == ["ServerlessNodes", "InstanceType", "Lifecycle", "ZoneSpread", "Gpu"]
    assert [plugin.name for plugin in profile.plugins.pre_filter.enabled] == ["ZoneSpread"]
    assert arguments(profile, "InstanceType") == {"allow": [], "deny": ["r5*"]}
    assert arguments(profile, "Lifecycle") == {"allow": ["spot"]}


def test_a_filter_becomes_added_affinity_if_node_affinity_can_express_it() -> None:
    profile = compiled(
        filters={
            "nodeSelector": {"matchLabels": {"team": "ml"}},
            "zones": {"allow": ["a"], "deny": ["b"]},
            "instanceTypes": {"allow": ["m5.large"]},
        }
    )
    required = arguments(profile, "NodeAffinity")["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {"key": "team", "operator": "In", "values": ["ml"]},
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
                {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["b"]},
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
            ]
        }
    ]
    assert "InstanceType" not in filters(profile)


def test_filters_are_added_to_every_term_of_an_added_affinity_in_the_policy() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term, term]}}
    profile = compiled(
        filters={"zones": {"allow": ["a"]}},
        pluginConfig=[{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}],
    )
    required = arguments(profile, "NodeAffinity")["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [len(term["matchExpressions"]) for term in required["nodeSelectorTerms"]] == [2, 2]


def test_resources_become_the_scoring_strategy() -> None:
    profile = compiled(resources={"strategy": "MostAllocated", "weights": {"cpu": 1, "nvidia.com/gpu": 5, "memory": 0}})
    assert arguments(profile, "NodeResourcesFit") == {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "nvidia.com/gpu", "weight": 5}],
        }
    }


def test_a_policy_scores_all_nodes_by_default_if_it_packs_or_a_section_ranks_nodes() -> None:
    assert compiled(preset="BinPack").settings.percentage_of_nodes_to_score == 100
    assert compiled(lifecycle={}).settings.percentage_of_nodes_to_score == 100
    assert compiled(preset="BinPack", percentageOfNodesToScore=30).settings.percentage_of_nodes_to_score == 30
    assert compiled().settings.percentage_of_nodes_to_score == 20


def test_backoff_pause_and_preemption_become_settings() -> None:
    settings = compiled(backoff={"initialSeconds": 5}, paused=True, preemption={"pdbPolicy": "Strict"}).settings
    assert (settings.initial_backoff_seconds, settings.max_backoff_seconds) == (5, 20.0)
    assert settings.paused
    assert settings.strict_preemption
    off = compiled(preemption={"enabled": False})
    assert [plugin.name for plugin in off.plugins.post_filter.disabled] == ["DefaultPreemption"]


def test_plugins_and_plugin_config_take_precedence_over_other_fields() -> None:
    profile = compiled(
        weights={"NodeAffinity": 2},
        plugins={
            "score": {"enabled": [{"name": "NodeAffinity", "weight": 8}], "disabled": [{"name": "ImageLocality"}]}
        },
        resources={"strategy": "MostAllocated"},
        pluginConfig=[{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/foo"]}}],
    )
    assert weights(profile) == {"NodeAffinity": 8}
    assert [plugin.name for plugin in profile.plugins.score.disabled] == ["ImageLocality"]
    assert arguments(profile, "NodeResourcesFit") == {
        "scoringStrategy": {"type": "MostAllocated"},
        "ignoredResources": ["example.com/foo"],
    }


@pytest.mark.parametrize("preset", ["Default", "BinPack", "Spread", "SpotFirst", "GpuPack"])
def test_the_registry_builds_every_preset(preset: str) -> None:
    profile = REGISTRY.build_profile(compiled(preset=preset))
    assert profile.name == "p"


def test_the_registry_builds_a_policy_with_every_section() -> None:
    spec = compiled(
        filters={"instanceTypes": {"deny": ["r5*"]}, "lifecycles": ["spot"], "zones": {"allow": ["a"]}},
        instanceTypes={},
        lifecycle={"prefer": "none"},
        zones={"spread": "Require", "prefer": {"a": 3}},
        gpu={"podsWithoutGpu": "Forbid", "models": {"H100": 10}},
        resources={
            "strategy": "RequestedToCapacityRatio",
            "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
        },
    )
    profile = REGISTRY.build_profile(spec)
    weights = {score.plugin.name: score.weight for score in profile.score}
    assert {name: weights[name] for name in ("InstanceType", "Lifecycle", "ZoneSpread", "Gpu")} == {
        "InstanceType": 3,
        "Lifecycle": 5,
        "ZoneSpread": 2,
        "Gpu": 5,
    }
    names = [plugin.name for plugin in profile.filter]
    assert names[names.index("NodePorts") - 5 : names.index("NodePorts")] == [
        "ServerlessNodes",
        "InstanceType",
        "Lifecycle",
        "ZoneSpread",
        "Gpu",
    ]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "written",
    [7, "*", True, [], {REQUIRED: -1}, {REQUIRED: {"nodeSelectorTerms": ["x"]}}, {REQUIRED: {"nodeSelectorTerms": 3}}],
)
@pytest.mark.parametrize("filters", [{}, {"zones": {"allow": ["a"]}}])
def test_the_plugin_refuses_a_malformed_added_affinity(written: Any, filters: dict[str, Any]) -> None:
    spec = compiled(filters=filters, pluginConfig=[{"name": "NodeAffinity", "args": {"addedAffinity": written}}])
    with pytest.raises(ConfigurationError, match="addedAffinity"):
        REGISTRY.build_profile(spec)


def test_a_policy_may_list_the_maximum_number_of_plugins_and_set_its_other_fields() -> None:
    names = ["NodeName", *(f"Unknown{number}" for number in range(63))]
    for point in ("filter", "multiPoint"):
        spec = compiled(plugins={point: {"enabled": [{"name": name} for name in names]}})
        with pytest.raises(UnknownPlugin):
            REGISTRY.build_profile(spec)
