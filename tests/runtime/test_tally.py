"""A policy's status lists rejections: kube-scheduler's reason, and the field of the policy that causes it."""

from __future__ import annotations

from typing import Any

import pytest

from builders import node, pod
from engine.scheduler_driver import add_objects, next_outcome
from moorage.api.v1alpha1 import parse_policy
from moorage.compilation.compile import compile_policy
from moorage.engine.outcomes import Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.runtime.tally import rejections_by_field

REGISTRY = Registry.discover()
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
TYPE = "node.kubernetes.io/instance-type"
NODES = [
    node("a", zone="a", labels={TYPE: "m5.large", "team": "ml"}),
    node("b", zone="b", labels={TYPE: "r5.large"}),
    node("none"),
    node("fargate", zone="a", labels={"eks.amazonaws.com/compute-type": "fargate", TYPE: "m5.large", "team": "ml"}),
]


def unschedulable(spec: dict[str, Any], incoming: Pod) -> tuple[Unschedulable, dict[str, int]]:
    """Try a pod with a policy; return the outcome, and its rejections by field."""
    policy = parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 1}, "spec": spec})
    profile = REGISTRY.build_profile(compile_policy(policy, REGISTRY, ProfileSettings()))
    scheduler = Scheduler(1, (profile,))
    add_objects(scheduler, *NODES, incoming)
    outcome = next_outcome(scheduler, Unschedulable)
    return outcome, rejections_by_field(outcome.diagnosis, profile)


def affinity(key: str, *values: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    }


def added(*values: str) -> dict[str, Any]:
    return {"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": affinity("pool", *values)}}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"filters": {"zones": {"allow": ["z"]}}}, {f"{ENFORCED} (filters.zones)": 4}),
        ({"filters": {"zones": {"deny": ["a", "b"]}, "nodeSelector": {"matchLabels": {"team": "x"}}}},
         {f"{ENFORCED} (filters.nodeSelector)": 4}),
        ({"filters": {"zones": {"allow": ["z"]}, "nodeSelector": {"matchLabels": {"team": "ml"}}}},
         {f"{ENFORCED} (filters.nodeSelector)": 2, f"{ENFORCED} (filters.zones)": 2}),
        ({"filters": {"instanceTypes": {"allow": ["c5.large"]}}}, {f"{ENFORCED} (filters.instanceTypes)": 4}),
        ({"filters": {"nodeSelector": {"matchExpressions": [{"key": "gone", "operator": "Exists"}]}}},
         {f"{ENFORCED} (filters.nodeSelector)": 4}),
        ({"filters": {"instanceTypes": {"allow": ["c*"]}}},
         {"node(s) had an instance type that the policy excludes (filters.instanceTypes)": 3,
          "node(s) were serverless (filters.serverlessNodes)": 1}),
        ({"filters": {"lifecycles": ["spot"], "serverlessNodes": "Allow"}},
         {"node(s) had a lifecycle that the policy excludes (filters.lifecycles)": 4}),
        ({**added("x"), "filters": {"zones": {"allow": ["a"]}}}, {f"{ENFORCED} (pool in (x))": 4}),
        (added("x", "y"), {f"{ENFORCED} (pool in (x,y))": 4}),
    ],
)  # fmt: skip
def test_a_rejection_names_the_field_of_the_policy(spec: dict[str, Any], expected: dict[str, int]) -> None:
    outcome, found = unschedulable(spec, pod("p", spec={"schedulerName": "p"}))
    # The order of Filter plugins decides which one rejects the serverless node.
    assert {reason: found.get(reason) for reason in expected} == expected
    assert "(filters." not in outcome.message
    assert "in (" not in outcome.message


def test_the_counts_by_field_add_up_to_the_counts_of_the_message() -> None:
    spec = {"filters": {"zones": {"allow": ["a"]}, "nodeSelector": {"matchLabels": {"team": "x"}}}}
    outcome, found = unschedulable(spec, pod("p", spec={"schedulerName": "p"}))
    assert outcome.diagnosis.reasons == {ENFORCED: 4}
    assert sum(found.values()) == 4


def test_a_rejection_for_a_requirement_of_the_pod_names_no_field() -> None:
    incoming = pod("p", spec={"schedulerName": "p"}, affinity={"nodeAffinity": affinity("disk", "ssd")})
    _, found = unschedulable({"filters": {"zones": {"allow": ["a"]}, "serverlessNodes": "Allow"}}, incoming)
    assert found == {f"{ENFORCED} (filters.zones)": 2, "node(s) didn't match Pod's node affinity/selector": 2}


def test_a_rejection_by_pre_filter_counts_all_nodes() -> None:
    incoming = pod("p", spec={"schedulerName": "p", "resourceClaims": [{"name": "c", "resourceClaimName": "c"}]})
    _, found = unschedulable({}, incoming)
    assert found == {"pod uses resource claims, which moorage does not allocate": 4}
