"""Warnings about valid policies: contradictions, shadowed rows, fields without effect, and names that no node has."""

from __future__ import annotations

from typing import Any

import pytest

from builders import columns_of, node, snapshot_of
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.cluster.nominator import Nominator
from moorage.cluster.snapshot import Snapshot
from moorage.compilation.node_facts import NodeFacts
from moorage.controller.policy_state import PolicyState
from moorage.controller.policy_warnings import PolicyWarnings
from moorage.framework.registry import Registry

PLUGINS = Registry.discover().policy_plugins()
NODES = (
    node("n1", zone="a", labels={"node.kubernetes.io/instance-type": "c5.large", "team": "ml"}),
    node("n2", zone="b", labels={"node.kubernetes.io/instance-type": "m5.large", "karpenter.sh/capacity-type": "spot"}),
    node("n3", labels={"nvidia.com/gpu.product": "H100"}, allocatable={"nvidia.com/gpu": "1"}),
)


def state(**spec: Any) -> PolicyState:
    return PolicyState(
        name="gold",
        uid="u",
        scheduler_name="gold",
        observed_generation=1,
        profile=None,
        refusal=None,
        spec=SchedulingPolicySpec.model_validate(spec),
    )


def warnings(*nodes: Any, **spec: Any) -> list[str]:
    """Return the warnings about a spec in a cluster with these nodes."""
    found = PolicyWarnings(PLUGINS, NodeFacts(snapshot_of(nodes)), lambda: True).of(state(**spec))
    return [f"{each.reason}: {each.message}" for each in found]


CONTRADICTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "same-pattern": (
        {"filters": {"instanceTypes": {"allow": ["c5*", "m5*"], "deny": ["c5*"]}}},
        ["AllowedAndDenied: spec.filters.instanceTypes: c5* is in allow and in deny; deny takes precedence"],
    ),
    "covered-pattern": (
        {"filters": {"instanceTypes": {"allow": ["c5.large"], "deny": ["c*"]}}},
        ["AllowedAndDenied: spec.filters.instanceTypes: c5.large is in allow and in deny as c*; deny takes precedence"],
    ),
    "narrower-deny": ({"filters": {"instanceTypes": {"allow": ["c5*"], "deny": ["c5.large"]}}}, []),
    "same-zone": (
        {"filters": {"zones": {"allow": ["a", "b"], "deny": ["b"]}}},
        ["AllowedAndDenied: spec.filters.zones: b is in allow and in deny; deny takes precedence"],
    ),
    "first-row-shadows": (
        {"instanceTypes": {"scores": [{"match": "*", "score": 5}, {"match": "c5*", "score": 10}]}},
        [
            "ShadowedRow: spec.instanceTypes.scores[1] (c5*) is never used: scores[0] (*) matches first",
        ],
    ),
    "repeated-row": (
        {"instanceTypes": {"scores": [{"match": "c5.*", "score": 5}, {"match": "c5.*", "score": 10}]}},
        [
            "ShadowedRow: spec.instanceTypes.scores[1] (c5.*) is never used: scores[0] (c5.*) matches first",
        ],
    ),
    "wider-row-last": (
        {"instanceTypes": {"scores": [{"match": "c5.large", "score": 10}, {"match": "c5*", "score": 5}]}},
        [],
    ),
    "repeated-source": (
        {"lifecycle": {"sources": [{"key": "pool", "spot": ["Cheap"]}, {"key": "pool", "reserved": ["cheap"]}]}},
        [
            "ShadowedRow: spec.lifecycle.sources[1].reserved: pool=cheap is never used: sources[0].spot has it too",
        ],
    ),
    "weight-of-zero": (
        {"lifecycle": {}, "weights": {"Lifecycle": 0}},
        ["WeightIsZero: spec.weights.Lifecycle is 0, so spec.lifecycle ranks no nodes"],
    ),
    "weight-of-zero-beside-a-preset": (
        {"preset": "Spread", "weights": {"ZoneSpread": 0}},
        ["WeightIsZero: spec.weights.ZoneSpread is 0, so spec.zones ranks no nodes"],
    ),
    "weight-of-zero-beside-resources": (
        {"resources": {"strategy": "MostAllocated"}, "weights": {"NodeResourcesFit": 0}},
        ["WeightIsZero: spec.weights.NodeResourcesFit is 0, so spec.resources ranks no nodes"],
    ),
    "weight-of-zero-beside-a-filter": ({"zones": {"spread": "Require"}, "weights": {"ZoneSpread": 0}}, []),
    "weight-of-zero-without-section": ({"weights": {"Lifecycle": 0, "ImageLocality": 0}}, []),
    "equal-scores": (
        {"instanceTypes": {"scores": [{"match": "c5*", "score": 1}]}},
        ["NoEffect: spec.instanceTypes has no effect: all instance types have the same score"],
    ),
    "idle-zones": (
        {"zones": {"spread": "Ignore"}},
        ["NoEffect: spec.zones has no effect: spread is Ignore, and prefer is empty"],
    ),
    "idle-gpu": (
        {"gpu": {"podsWithGpu": "Ignore", "podsWithoutGpu": "Ignore"}},
        ["NoEffect: spec.gpu has no effect: it ignores GPUs, and models is empty"],
    ),
    "zero-resource-weights": (
        {"resources": {"weights": {"cpu": 0}}},
        ["NoEffect: spec.resources.weights has no effect: all weights are 0, so the default weights apply"],
    ),
    "excluded-preference": (
        {"preset": "SpotFirst", "filters": {"lifecycles": ["on-demand", "reserved"]}},
        ["NoEffect: spec.lifecycle.prefer has no effect: spec.filters.lifecycles excludes spot"],
    ),
    "skew-without-require": (
        {"zones": {"maxSkew": 3}},
        ["NoEffect: spec.zones.maxSkew has no effect: only spread: Require uses it"],
    ),
    "excluded-zone-preference": (
        {"zones": {"prefer": {"a": 5, "b": 3}}, "filters": {"zones": {"allow": ["a"]}}},
        ["NoEffect: spec.zones.prefer.b has no effect: spec.filters.zones excludes the zone"],
    ),
    "budgets-without-preemption": (
        {"preemption": {"enabled": False, "pdbPolicy": "Strict"}},
        ["NoEffect: spec.preemption.pdbPolicy has no effect: preemption is not enabled"],
    ),
    "sections-with-their-defaults": ({"instanceTypes": {}, "lifecycle": {}, "zones": {}, "gpu": {}}, []),
    "nothing": ({}, []),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_fields_without_the_intended_effect_cause_warnings(name: str) -> None:
    spec, expected = CONTRADICTIONS[name]
    assert warnings(**spec) == expected


MISSING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "patterns": (
        {"filters": {"instanceTypes": {"allow": ["c5*", "c6*"], "deny": ["x1*"]}}},
        [
            "PatternMatchesNoNode: spec.filters.instanceTypes.allow: c6* matches the instance type of no node",
            "PatternMatchesNoNode: spec.filters.instanceTypes.deny: x1* matches the instance type of no node",
        ],
    ),
    "rows": (
        {"instanceTypes": {"scores": [{"match": "m5*", "score": 5}, {"match": "M5*", "score": 5}]}},
        ["PatternMatchesNoNode: spec.instanceTypes.scores[1]: M5* matches the instance type of no node"],
    ),
    "zones": (
        {"filters": {"zones": {"allow": ["a", "us-east-1a"], "deny": ["c"]}}, "zones": {"prefer": {"a": 1}}},
        [
            "ZoneHasNoNode: spec.filters.zones.allow: no node is in the zone us-east-1a",
            "ZoneHasNoNode: spec.filters.zones.deny: no node is in the zone c",
        ],
    ),
    "preferred-zone": (
        {"zones": {"prefer": {"a": 1, "z": 2}}},
        ["ZoneHasNoNode: spec.zones.prefer: no node is in the zone z"],
    ),
    "node-selector": (
        {
            "filters": {
                "nodeSelector": {
                    "matchLabels": {"team": "ml", "tier": "1"},
                    "matchExpressions": [
                        {"key": "team", "operator": "In", "values": ["web", "db"]},
                        {"key": "rack", "operator": "Exists"},
                        {"key": "old", "operator": "DoesNotExist"},
                        {"key": "team", "operator": "NotIn", "values": ["web"]},
                    ],
                }
            }
        },
        [
            "LabelHasNoNode: spec.filters.nodeSelector: no node has the label tier=1",
            "LabelHasNoNode: spec.filters.nodeSelector: no node has the label team=web or team=db",
            "LabelHasNoNode: spec.filters.nodeSelector: no node has the label rack",
        ],
    ),
    "lifecycles": (
        {"filters": {"lifecycles": ["spot", "reserved", "unknown"]}},
        ["LifecycleHasNoNode: spec.filters.lifecycles: no node has the lifecycle reserved"],
    ),
    "sources": (
        {"lifecycle": {"sources": [{"key": "pool", "spot": ["cheap"]}], "prefer": "spot"}},
        [
            "LabelHasNoNode: spec.lifecycle.sources[0]: no node has the label pool",
            "LifecycleHasNoNode: spec.lifecycle.prefer: no node has the lifecycle spot",
        ],
    ),
    "source-in-other-case": ({"lifecycle": {"sources": [{"key": "team", "spot": ["ML"]}]}}, []),
    "gpus": (
        {"gpu": {"models": {"H100": 10, "A100": 5}, "resources": ["nvidia.com/gpu", "example.com/npu"]}},
        [
            "LabelHasNoNode: spec.gpu.models: no node has the label nvidia.com/gpu.product=A100",
            "ResourceHasNoNode: spec.gpu.resources: no node has the resource example.com/npu",
        ],
    ),
    "scarcity": (
        {"scarcity": {"resources": ["nvidia.com/gpu", "example.com/npu"]}},
        ["ResourceHasNoNode: spec.scarcity.resources: no node has the resource example.com/npu"],
    ),
    "defaults": ({"instanceTypes": {}, "gpu": {}, "zones": {}}, []),
    "presets": ({"preset": "SpotFirst"}, []),
}


@pytest.mark.parametrize("name", MISSING)
def test_names_that_no_node_has_cause_warnings(name: str) -> None:
    spec, expected = MISSING[name]
    assert warnings(*NODES, **spec) == expected


def test_warnings_about_nodes_appear_only_if_nodes_are_listed() -> None:
    spec, expected = MISSING["patterns"]
    assert warnings(**spec) == []
    listed = [False]
    made = PolicyWarnings(PLUGINS, NodeFacts(snapshot_of(NODES)), lambda: listed[0])
    policy = state(**spec)
    assert made.of(policy) == ()
    listed[0] = True
    assert len(made.of(policy)) == len(expected)


def test_warnings_are_computed_again_only_after_a_change_that_affects_them() -> None:
    columns = columns_of(NODES)
    made = PolicyWarnings(PLUGINS, NodeFacts(Snapshot(columns, Nominator())), lambda: True)
    policy = state(filters={"instanceTypes": {"allow": ["r5*", "c5*"]}})
    before = made.of(policy)
    columns.set_node(node("n4", zone="z", cpu="7", labels={"node.kubernetes.io/instance-type": "c5.large"}))
    assert made.of(policy) is before
    columns.set_node(node("n5", labels={"node.kubernetes.io/instance-type": "r5.large"}))
    assert made.of(policy) == ()
    columns.remove_node("n5")
    assert made.of(policy) == before
