"""Filters of a policy treat pods of a DaemonSet like the equivalent addedAffinity in kube-scheduler."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from moorage.api.v1alpha1 import parse_policy
from moorage.compilation.compile import compile_policy
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry
from moorage.simulator.parity.parity_report import report_lines
from parity.differential import ask_oracle, compare_with_moorage

pytestmark = pytest.mark.controlplane

Object = dict[str, Any]
REGISTRY = Registry.discover()

ZONE, INSTANCE_TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True}
TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]
"""The tolerations that the DaemonSet controller adds."""
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


def node(name: str, zone: str, *, cpu: str = "4", instance_type: str = "m5.large", **spec: Any) -> Object:
    labels = {"kubernetes.io/hostname": name, ZONE: zone, INSTANCE_TYPE: instance_type}
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}


def placed(name: str, node_name: str, cpu: str) -> Object:
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node_name, "containers": [container(cpu)]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
    }


def container(cpu: str) -> Object:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}


def named(*names: str, **more: Any) -> Object:
    """Return a term that requires each name. For one name, it equals the term of the DaemonSet controller."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    return {"matchFields": fields, **more}


def pinned(terms: list[Object], cpu: str) -> Object:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {
        "metadata": {"name": "agent", "ownerReferences": [DAEMON_SET]},
        "spec": {
            "priority": 100,
            "containers": [container(cpu)],
            "tolerations": TOLERATIONS,
            "affinity": {"nodeAffinity": required},
        },
    }


def config_of(filters: Object) -> Object:
    """Return the kube-scheduler profile that is equal to a policy with these filters."""
    spec = {"filters": {**filters, "serverlessNodes": "Allow"}}
    policy = parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 1}, "spec": spec})
    compiled = compile_policy(policy, REGISTRY, ProfileSettings())
    return {"pluginConfig": [{"name": config.name, "args": config.args} for config in compiled.plugin_config]}


NODES = [
    node("a1", "a"),
    node("a2", "a", cpu="1"),
    node("b1", "b", instance_type="r5.large"),
    node("b2", "b", taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
    node("b3", "b", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
]
PLACED = [placed("p1", "a2", "1"), placed("p2", "b1", "4")]
IN_ZONE_B = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
FILTERS: list[Object] = [
    {},
    {"zones": {"allow": ["a"]}},
    {"zones": {"deny": ["a"]}},
    {"nodeSelector": {"matchLabels": {"pool": "none"}}},
    {"instanceTypes": {"deny": ["r5.large"]}, "zones": {"allow": ["a", "b"]}},
]
TERMS = [
    *([named(name)] for name in ("a1", "a2", "b1", "b2", "b3", "gone")),
    [named("a1"), named("b1")],
    [named("b1"), named("gone")],
    [named("a1", "b1")],
    [named("a1", **IN_ZONE_B)],
    [named("b1", **IN_ZONE_B)],
    [named("a1"), IN_ZONE_B],
]


def test_filters_of_a_policy_treat_pods_of_a_daemon_set_like_added_affinity() -> None:
    cases = [
        {
            "id": f"pinned/{number}",
            "config": config_of(filters),
            "nodes": NODES,
            "pods": pods,
            "pod": pinned(terms, cpu),
        }
        for number, (filters, terms, cpu, pods) in enumerate(product(FILTERS, TERMS, ("500m", "16"), ([], PLACED)))
    ]
    report = compare_with_moorage(ask_oracle(cases))
    assert report.total == len(cases)
    assert report.agreeing == report.total, "\n".join(report_lines(report))


def test_daemon_set_pod_for_an_excluded_node_gets_the_message_of_kube_scheduler() -> None:
    case = {"id": "pinned/1", "config": config_of(FILTERS[1]), "nodes": NODES, "pod": pinned([named("b1")], "500m")}
    (decided,) = ask_oracle([case])
    assert decided["expect"]["fitErrorMessage"] == (
        f"0/5 nodes are available: 1 {ENFORCED}, 4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert compare_with_moorage([decided]).agreeing == 1
