"""build_profile: errors name the field that the author of the policy wrote."""

from __future__ import annotations

from typing import Any

import pytest

from builders import node, pod
from engine.scheduler_driver import run_until_idle, scheduler_of
from moorage.api.v1alpha1 import parse_policy
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_profile
from moorage.engine.outcomes import Unschedulable
from moorage.errors import InvalidPolicy, UnknownPlugin
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.runtime.extenders.allowed_hosts import AllowedHosts

REGISTRY = Registry.discover()


PERMISSIONS = PolicyPermissions(extender_hosts=AllowedHosts.parse(["x.example.com"]))


def built(permissions: PolicyPermissions = PERMISSIONS, **spec: Any) -> Profile:
    policy = parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 3}, "spec": spec})
    return build_profile(REGISTRY, ProfileSettings(), policy, permissions)


def refused(**spec: Any) -> list[str]:
    with pytest.raises(InvalidPolicy) as caught:
        built(**spec)
    return [str(fault) for fault in caught.value.faults]


def argument(plugin: str, **args: Any) -> dict[str, Any]:
    return {"name": plugin, "args": args}


def test_an_extender_without_a_usable_certificate_is_refused_with_its_path() -> None:
    tls = {"caData": "bm90IGEgY2VydGlmaWNhdGU="}
    extender = {"urlPrefix": "https://x.example.com", "filterVerb": "filter", "enableHTTPS": True, "tlsConfig": tls}
    (fault,) = refused(extenders=[extender])
    assert fault.startswith("spec.extenders[0].tlsConfig.caData: ")


def test_a_weight_for_a_plugin_without_a_score_is_refused_with_its_path() -> None:
    message = "DefaultBinder has no score; `moorage plugins` lists the plugins that have one"
    assert refused(weights={"DefaultBinder": 3, "NodeAffinity": 2}) == [f"spec.weights.DefaultBinder: {message}"]
    assert built(weights={"DefaultBinder": 0}).bind


@pytest.mark.parametrize(
    "spec",
    [
        {"weights": {"NodeResourceFit": 3}},
        {"plugins": {"score": {"enabled": [{"name": "NodeResourceFit"}]}}},
        {"pluginConfig": [{"name": "NodeResourceFit", "args": {}}]},
    ],
)
def test_an_unknown_plugin_raises_unknown_plugin(spec: dict[str, Any]) -> None:
    with pytest.raises(UnknownPlugin, match="did you mean NodeResourcesFit"):
        built(**spec)


def test_the_error_names_every_place_of_every_unknown_plugin() -> None:
    with pytest.raises(UnknownPlugin) as caught:
        built(
            weights={"NodeResourceFit": 3, "NodeAffinity": 1, "Zzz": 0},
            plugins={
                "score": {"enabled": [{"name": "NodeAffinity"}, {"name": "NodeResourceFit"}]},
                "filter": {"disabled": [{"name": "*"}, {"name": "Zzz"}]},
            },
            pluginConfig=[argument("NodeAffinity"), argument("Zzz")],
        )
    near, none = "; did you mean NodeResourcesFit?", "; `moorage plugins` lists the known ones"
    assert str(caught.value) == "; ".join(
        [
            f"spec.weights.NodeResourceFit: there is no plugin 'NodeResourceFit'{near}",
            f"spec.weights.Zzz: there is no plugin 'Zzz'{none}",
            f"spec.plugins.filter.disabled[1].name: there is no plugin 'Zzz'{none}",
            f"spec.plugins.score.enabled[1].name: there is no plugin 'NodeResourceFit'{near}",
            f"spec.pluginConfig[1].name: there is no plugin 'Zzz'{none}",
        ]
    )


def test_a_plugin_at_a_wrong_point_is_refused_with_its_path() -> None:
    enabled = [{"name": "NodeAffinity"}, {"name": "NodeName"}]
    (fault,) = refused(weights={"ImageLocality": 2}, gpu={}, plugins={"score": {"enabled": enabled}})
    assert fault == "spec.plugins.score.enabled[1].name: plugin NodeName has no extension point score"
    (fault,) = refused(plugins={"bind": {"disabled": [{"name": "*"}]}})
    assert fault.startswith("spec.plugins.bind: ")


def test_a_wrong_argument_is_refused_with_its_plugin_and_a_suggestion() -> None:
    config = [argument("InterPodAffinity", hardPodAffinityWeight=101), argument("NodeResourcesFit", ignoredResource=[])]
    assert refused(resources={"strategy": "MostAllocated"}, pluginConfig=config) == [
        (
            "spec.pluginConfig[1].args.ignoredResource: is not an argument of plugin NodeResourcesFit; "
            "did you mean ignoredResources?"
        ),
        (
            "spec.pluginConfig[0].args.hardPodAffinityWeight: must be less than or equal to 100, not 101 "
            "(plugin InterPodAffinity)"
        ),
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (argument("NodeName", colour="red"), "colour: is not an argument of plugin NodeName; it takes none"),
        (
            argument("DefaultPreemption", colour="red"),
            (
                "colour: is not an argument of plugin DefaultPreemption; use one of minCandidateNodesPercentage, "
                "minCandidateNodesAbsolute"
            ),
        ),
        (
            argument("NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resource": []}),
            "scoringStrategy.resource: is not an argument of plugin NodeResourcesFit; did you mean resources?",
        ),
        (
            argument("NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resources": [{"nam": "cpu"}]}),
            "scoringStrategy.resources[0].nam: is not an argument of plugin NodeResourcesFit; did you mean name?",
        ),
    ],
)
def test_an_unknown_argument_is_refused_with_a_list_of_the_known_arguments(
    config: dict[str, Any], message: str
) -> None:
    assert f"spec.pluginConfig[0].args.{message}" in refused(pluginConfig=[config])


BAD = "not ok!"


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"nodeSelector": {"matchLabels": {"a": "b", "team": BAD}}}, "nodeSelector.matchLabels.team"),
        ({"nodeSelector": {"matchLabels": {BAD: "b"}}}, f"nodeSelector.matchLabels.{BAD}"),
        (
            {
                "nodeSelector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [
                        {"key": "c", "operator": "Exists"},
                        {"key": "d", "operator": "NotIn", "values": ["e", BAD]},
                    ],
                }
            },
            "nodeSelector.matchExpressions[1].values[1]",
        ),
        ({"zones": {"allow": ["z"]}, "instanceTypes": {"deny": ["m5*", "m5.large", "_odd"]}}, "instanceTypes.deny[2]"),
    ],
)
@pytest.mark.parametrize(
    "own", [None, {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]}]
)
def test_the_error_of_a_filter_has_the_path_of_the_filter_and_not_of_the_plugin_argument(
    filters: dict[str, Any], path: str, own: dict[str, Any] | None
) -> None:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": own}
    (fault,) = refused(filters=filters, pluginConfig=[argument("NodeAffinity", addedAffinity=affinity)])
    assert fault.startswith(f"spec.filters.{path}: must match pattern ")


def test_a_wrong_term_of_added_affinity_is_refused_with_its_path_although_filters_add_terms() -> None:
    terms = [{"matchExpressions": [{"key": "team", "operator": "In", "values": []}]}]
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    (fault,) = refused(
        filters={"zones": {"allow": ["z"]}}, pluginConfig=[argument("NodeAffinity", addedAffinity=affinity)]
    )
    assert fault.startswith(
        "spec.pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[0].matchExpressions[0].values: In and NotIn need at least one value"
    )


EXCLUSIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "instance-type": (
        {"filters": {"instanceTypes": {"deny": ["c5*"]}}},
        {"labels": {"node.kubernetes.io/instance-type": "c5.large"}},
        "node(s) had an instance type that the policy excludes",
    ),
    "lifecycle": (
        {"filters": {"lifecycles": ["on-demand", "unknown"]}},
        {"labels": {"node.kubernetes.io/lifecycle": "spot"}},
        "node(s) had a lifecycle that the policy excludes",
    ),
    "serverless": (
        {"filters": {"zones": {"deny": ["z"]}}},
        {"labels": {"eks.amazonaws.com/compute-type": "fargate"}},
        "node(s) were serverless",
    ),
    "zone": (
        {"filters": {"zones": {"deny": ["a"]}}},
        {"zone": "a"},
        "node(s) didn't match scheduler-enforced node affinity",
    ),
    "gpu": (
        {"gpu": {"podsWithoutGpu": "Forbid"}},
        {"allocatable": {"nvidia.com/gpu": "1"}},
        "node(s) had GPUs that the pod does not ask for",
    ),
    "spread": (
        {"zones": {"spread": "Require", "scope": "Namespace"}},
        {"zone": "b"},
        "node(s) didn't match pod topology spread constraints",
    ),
}


@pytest.mark.parametrize("case", EXCLUSIONS)
def test_the_message_counts_a_full_node_as_excluded_if_the_policy_excludes_the_node(case: str) -> None:
    """Otherwise, users would expect that larger nodes of the excluded kind help. Only `s0` and `s1` are too small."""
    spec, fields, reason = EXCLUSIONS[case]
    excluded = [node(f"x{index}", cpu="1", **fields) for index in range(4)]
    small = [node(f"s{index}", cpu="1", zone="c") for index in range(2)]
    running = [pod(f"r{index}", node=f"x{index}") for index in range(4)]
    scheduler = scheduler_of(
        *excluded, *small, *running, pod("p", cpu="2", spec={"schedulerName": "p"}), profiles=(built(**spec),)
    )
    (outcome,) = run_until_idle(scheduler)
    assert isinstance(outcome, Unschedulable)
    assert outcome.diagnosis.reasons == {"Insufficient cpu": 2, reason: 4}


def test_a_policy_without_filters_runs_the_filters_of_kube_scheduler_in_the_same_order() -> None:
    """kube-scheduler does not have ServerlessNodes. This filter runs last, so that messages equal kube-scheduler's."""
    default = [plugin.name for plugin in REGISTRY.build_profile(ProfileSpec(scheduler_name="default-scheduler")).filter]
    profile = built(filters={"serverlessNodes": "Allow"}, preset="BinPack")
    assert [plugin.name for plugin in profile.filter] == default
    assert [plugin.name for plugin in built(preset="BinPack").filter] == [*default, "ServerlessNodes"]


def test_filters_of_a_policy_run_after_the_filters_of_kube_scheduler_that_read_only_the_node() -> None:
    names = [plugin.name for plugin in built(filters={"lifecycles": ["spot"]}).filter]
    start = names.index("NodeAffinity")
    assert names[start : start + 5] == ["NodeAffinity", "ServerlessNodes", "Lifecycle", "NodePorts", "NodeResourcesFit"]


def test_the_order_in_spec_plugins_takes_precedence() -> None:
    plugins = {"filter": {"enabled": [{"name": "NodeResourcesFit"}, {"name": "Lifecycle"}]}}
    names = [plugin.name for plugin in built(filters={"lifecycles": ["spot"]}, plugins=plugins).filter]
    assert (names[0], names[1], names[-1]) == ("ServerlessNodes", "NodeResourcesFit", "Lifecycle")
