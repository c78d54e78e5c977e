from typing import Any

import pytest

from moorage.api.extender import Extender
from moorage.api.plugin_config import PluginConfig, Plugins
from moorage.errors import MAX_FAULTS, ConfigurationError, UnknownPlugin
from moorage.framework.defaults import DEFAULT_PLUGINS
from moorage.framework.extension_points import ScorePlugin
from moorage.framework.profile import PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry

REGISTRY = Registry.discover()


def built(plugins: dict[str, Any] | None = None, *configs: dict[str, Any], **fields: Any) -> Profile:
    spec = ProfileSpec(
        scheduler_name="mine",
        plugins=Plugins.model_validate(plugins or {}),
        plugin_config=tuple(PluginConfig.model_validate(config) for config in configs),
        **fields,
    )
    return REGISTRY.build_profile(spec)


def names(plugins: Any) -> list[str]:
    return [plugin.name for plugin in plugins]


def weights(profile: Profile) -> dict[str, int]:
    return {entry.plugin.name: entry.weight for entry in profile.score}


def faults(error: ConfigurationError) -> list[str]:
    return [str(fault) for fault in error.faults]


def test_every_default_plugin_is_found() -> None:
    assert DEFAULT_PLUGINS.keys() <= REGISTRY.classes.keys()


def test_default_profile_equals_the_default_profile_of_kube_scheduler() -> None:
    profile = built()
    assert names(profile.filter) == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]
    assert weights(profile) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert names(profile.post_filter) == ["DynamicResources", "DefaultPreemption"]
    assert names(profile.bind) == ["DefaultBinder"]
    assert profile.queue_sort.name == "PrioritySort"


def test_plugin_is_the_same_object_at_all_its_extension_points() -> None:
    profile = built()
    assert next(p for p in profile.filter if p.name == "NodeAffinity") in [entry.plugin for entry in profile.score]


def test_plugin_that_one_extension_point_disables_runs_at_its_other_points() -> None:
    profile = built({"score": {"disabled": [{"name": "NodeAffinity"}]}})
    assert "NodeAffinity" not in weights(profile)
    assert "NodeAffinity" in names(profile.filter)
    assert "NodeAffinity" in names(profile.pre_score)


def test_star_disables_all_default_plugins_of_an_extension_point() -> None:
    profile = built({"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}})
    assert weights(profile) == {"ImageLocality": 7}


def test_multi_point_disables_a_plugin_at_all_extension_points() -> None:
    profile = built({"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}})
    assert "NodeAffinity" not in names(profile.plugins)


def test_weight_at_score_overrides_multi_point_and_a_missing_weight_means_1() -> None:
    profile = built(
        {
            "multiPoint": {"enabled": [{"name": "TaintToleration"}, {"name": "NodeAffinity", "weight": 9}]},
            "score": {"enabled": [{"name": "NodeAffinity", "weight": 4}, {"name": "PodTopologySpread"}]},
        }
    )
    assert (weights(profile)["TaintToleration"], weights(profile)["NodeAffinity"]) == (1, 4)
    assert weights(profile)["PodTopologySpread"] == 1


def test_default_plugin_keeps_its_place_if_multi_point_enables_it_again() -> None:
    profile = built({"multiPoint": {"enabled": [{"name": "NodeAffinity"}, {"name": "Lifecycle", "weight": 5}]}})
    assert names(profile.filter)[:4] == ["NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity"]
    assert weights(profile)["Lifecycle"] == 5


def test_plugins_that_an_extension_point_enables_run_before_default_plugins() -> None:
    profile = built({"filter": {"enabled": [{"name": "NodePorts"}, {"name": "NodeName"}]}})
    assert names(profile.filter)[:3] == ["NodePorts", "NodeName", "NodeUnschedulable"]
    assert len(set(names(profile.filter))) == len(profile.filter)


def test_plugin_that_is_disabled_and_enabled_runs_last() -> None:
    entry = [{"name": "NodeName"}]
    profile = built({"filter": {"enabled": entry, "disabled": entry}})
    assert names(profile.filter)[-1] == "NodeName"


def test_plugin_has_the_arguments_of_its_plugin_config() -> None:
    profile = built(None, {"name": "DefaultPreemption", "args": {"minCandidateNodesAbsolute": 7}})
    preemption = next(p for p in profile.post_filter if p.name == "DefaultPreemption")
    assert preemption.model_dump()["min_candidate_nodes_absolute"] == 7


def test_arguments_may_have_api_version_and_kind() -> None:
    version = "kubescheduler.config.k8s.io/v1"
    built(None, {"name": "DefaultPreemption", "args": {"apiVersion": version, "kind": "DefaultPreemptionArgs"}})
    with pytest.raises(ConfigurationError) as raised:
        built(None, {"name": "DefaultPreemption", "args": {"apiVersion": "v1", "kind": "NodeAffinityArgs"}})
    assert faults(raised.value) == [
        f"pluginConfig[0].args.apiVersion: must be {version}",
        "pluginConfig[0].args.kind: must be DefaultPreemptionArgs",
    ]


def test_all_invalid_arguments_are_reported_with_their_paths() -> None:
    with pytest.raises(ConfigurationError) as raised:
        built(
            None,
            {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 101}},
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeigth": 1}},
        )
    paths = [fault.path for fault in raised.value.faults]
    assert sorted(paths) == [
        "pluginConfig[0].args.minCandidateNodesPercentage",
        "pluginConfig[1].args.hardPodAffinityWeigth",
    ]


def test_a_limited_number_of_faults_is_described() -> None:
    many = {f"unknown{number}": 1 for number in range(1_000)}
    with pytest.raises(ConfigurationError) as raised:
        built(None, {"name": "NodeAffinity", "args": many})
    assert len(raised.value.faults) == MAX_FAULTS
    assert len(REGISTRY.unknown_weights(many)) == MAX_FAULTS


def test_python_names_and_strings_for_numbers_are_rejected() -> None:
    for args in ({"min_candidate_nodes_absolute": 7}, {"minCandidateNodesAbsolute": "7"}):
        with pytest.raises(ConfigurationError):
            built(None, {"name": "DefaultPreemption", "args": args})


@pytest.mark.parametrize(
    "plugins",
    [
        {"score": {"enabled": [{"name": "NodeAfinity"}]}},
        {"filter": {"disabled": [{"name": "NodeAfinity"}]}},
        {"multiPoint": {"enabled": [{"name": "*"}]}},
    ],
)
def test_unknown_plugin_is_rejected(plugins: dict[str, Any]) -> None:
    with pytest.raises(UnknownPlugin):
        built(plugins)


def test_unknown_plugin_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(UnknownPlugin, match="did you mean NodeAffinity"):
        built(None, {"name": "NodeAfinity", "args": {}})


@pytest.mark.parametrize(
    ("plugins", "complaint"),
    [
        ({"score": {"enabled": [{"name": "NodeName"}]}}, "NodeName has no extension point score"),
        ({"preScore": {"enabled": [{"name": "ImageLocality"}]}}, "ImageLocality has no extension point preScore"),
        ({"permit": {"enabled": [{"name": "NodeName"}]}}, "NodeName has no extension point permit"),
        ({"filter": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]}}, "NodeName is enabled twice"),
        ({"queueSort": {"disabled": [{"name": "*"}]}}, "exactly one plugin must sort the queue, not none"),
        ({"bind": {"disabled": [{"name": "DefaultBinder"}]}}, "at least one Bind plugin is needed"),
    ],
)
def test_invalid_plugin_lists_are_rejected(plugins: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        built(plugins)


def test_plugin_configured_twice_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match=r"pluginConfig\[1\].name: plugin NodeAffinity is configured twice"):
        built(None, {"name": "NodeAffinity"}, {"name": "NodeAffinity"})


def test_feature_gate_disables_its_plugin() -> None:
    off = Registry(REGISTRY.classes, {"NodeDeclaredFeatures": False})
    profile = off.build_profile(ProfileSpec(scheduler_name="mine"))
    assert "NodeDeclaredFeatures" not in names(profile.filter)


def test_resources_that_extenders_ignore_replace_the_argument_ignored_resources() -> None:
    extender = Extender.model_validate(
        {
            "urlPrefix": "http://extender",
            "filterVerb": "filter",
            "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
        }
    )
    config = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/y"]}}
    profile = built(None, config, settings=ProfileSettings(extenders=(extender,)))
    fit = next(p for p in profile.filter if p.name == "NodeResourcesFit")
    assert list(fit.model_dump()["ignored_resources"]) == ["example.com/x"]


def test_profile_has_the_settings_and_policy_of_its_spec() -> None:
    settings, policy = ProfileSettings(paused=True), PolicyReference("p", "uid", 3)
    profile = built(settings=settings, policy=policy)
    assert (profile.name, profile.settings, profile.policy) == ("mine", settings, policy)


def test_moorage_plugin_without_a_weight_has_the_default_weight_of_its_class() -> None:
    profile = built({"multiPoint": {"enabled": [{"name": "Lifecycle"}]}})
    lifecycle = REGISTRY.classes["Lifecycle"]
    assert issubclass(lifecycle, ScorePlugin)
    assert weights(profile)["Lifecycle"] == lifecycle.default_weight
