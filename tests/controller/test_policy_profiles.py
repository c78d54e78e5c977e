"""build_profile: errors name the field that the author of the policy wrote."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.v1alpha1 import parse_policy
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_profile
from moorage.errors import InvalidPolicy, UnknownPlugin
from moorage.framework.profile import Profile, ProfileSettings
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
def test_an_unknown_argument_is_refused_with_the_known_ones(config: dict[str, Any], message: str) -> None:
    assert f"spec.pluginConfig[0].args.{message}" in refused(pluginConfig=[config])


def test_an_argument_from_a_section_is_refused_with_the_path_of_the_section() -> None:
    selector = {"matchLabels": {"team": "not ok!"}}
    (fault,) = refused(filters={"nodeSelector": selector}, pluginConfig=[argument("NodeAffinity")])
    assert fault.startswith("spec.filters: must match pattern ")
