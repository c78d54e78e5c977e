"""moorage makes the same decisions on a cluster and on its anonymized copy, except for the names.

Tokens sort like the names that they replace. So a node has the same position among the sorted nodes of both clusters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Object
from engine.scheduler_driver import kube_profile, run_until_idle
from moorage.api.v1alpha1 import parse_policy
from moorage.controller.policy_profiles import build_profile
from moorage.engine.outcomes import Bind, Unschedulable
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry
from moorage.inventory import Inventory, anonymize, cluster_events
from moorage.model.decode import Decoder
from moorage.simulator.parity.case_cluster import CLUSTER_SCOPED
from moorage.simulator.parity.cases import KINDS as CASE_KINDS
from moorage.simulator.parity.cases import Case, read_cases
from moorage.simulator.parity.parity_run import decide
from strategies import EXTENDED, NAMESPACE_LABELS, NODE_NAMES, node_objects, pod_objects

VECTORS = sorted((Path(__file__).parents[1] / "parity" / "vectors").glob("*.jsonl.gz"))
REGISTRY = Registry.discover()


def positions(names: list[str]) -> dict[str, int]:
    return {name: position for position, name in enumerate(sorted(names))}


def summary(decision: dict[str, Any], nodes: dict[str, int], pods: dict[str, int]) -> dict[str, Any]:
    """Return the comparable parts of a decision. Positions replace the names of nodes and pods."""
    preemption = decision.get("preemption") or {}

    def code(status: Any) -> Any:
        return (status["code"], status.get("plugin")) if isinstance(status, dict) else status

    def of_nodes(values: dict[str, Any]) -> dict[int, Any]:
        return {nodes[name]: value for name, value in values.items()}

    def key_position(key: str) -> int:
        return pods[key]

    return {
        "prefilter": {plugin: code(status) for plugin, status in (decision.get("prefilter") or {}).items()},
        "filter": of_nodes({name: code(status) for name, status in (decision.get("filter") or {}).items()}),
        "feasible": sorted(nodes[name] for name in decision.get("feasible") or ()),
        "scores": {plugin: of_nodes(scores) for plugin, scores in (decision.get("scores") or {}).items()},
        "total": of_nodes(decision.get("total") or {}),
        "best": sorted(nodes[name] for name in decision.get("best") or ()),
        "plugins": decision.get("unschedulablePlugins"),
        "candidates": of_nodes(
            {
                name: (found["numPDBViolations"], [key_position(key) for key in found["pods"]])
                for name, found in (preemption.get("candidates") or {}).items()
            }
        ),
        "nominated": nodes.get(preemption.get("nominatedNode", "")),
        "victims": [key_position(key) for key in preemption.get("victims") or ()],
        "configError": bool(decision.get("configError")),
        "error": decision.get("error"),
    }


def bodies_of(case: Case) -> list[Object]:
    """Return the objects of a case, with the case's pod last, and its profiles as policies."""
    found = [{**body, "kind": kind} for field, kind in CASE_KINDS.items() for body in case.given.get(field) or ()]
    return [*policies_of(case), *found, {**case.given["pod"], "kind": "Pod"}]


def policies_of(case: Case) -> list[Object]:
    config = case.given.get("config") or {}
    return [
        {
            "kind": "SchedulingPolicy",
            "metadata": {"name": profile.get("schedulerName") or "default-scheduler"},
            "spec": {"pluginConfig": profile.get("pluginConfig") or []},
        }
        for profile in config.get("profiles") or ([config] if config else [])
    ]


def renamed_config(case: Case, inventory: Inventory) -> Any:
    config = case.given.get("config")
    if not config:
        return config
    profiles = [
        {
            **profile,
            **({"schedulerName": policy["metadata"]["name"]} if profile.get("schedulerName") else {}),
            **({"pluginConfig": policy["spec"]["pluginConfig"]} if profile.get("pluginConfig") else {}),
        }
        for profile, policy in zip(config.get("profiles") or [config], inventory.policies, strict=True)
    ]
    return {**config, "profiles": profiles} if "profiles" in config else profiles[0]


def with_namespaces(case: Case) -> Case:
    """Return the case with the names that `Inventory` fills in, so that both sides have equal objects."""
    given = dict(case.given)
    for field, kind in [*CASE_KINDS.items(), ("pod", "Pod")]:
        if kind in CLUSTER_SCOPED or not given.get(field):
            continue
        bodies = [given[field]] if field == "pod" else given[field]
        filled = [
            {**body, "metadata": {**body["metadata"], "namespace": body["metadata"].get("namespace") or "default"}}
            for body in bodies
        ]
        given[field] = filled[0] if field == "pod" else filled
    return Case(case.id, case.group, given, case.expected)


def anonymized_case(case: Case) -> Case:
    inventory = anonymize(Inventory.of(bodies_of(case))).inventory
    given = dict(case.given)
    for field, kind in CASE_KINDS.items():
        if field in given:
            given[field] = list(inventory.bodies(kind))
    given["pod"] = given.get("pods", list(inventory.bodies("Pod")))[-1]
    if "pods" in given:
        given["pods"] = given["pods"][:-1]
    given["config"] = renamed_config(case, inventory)
    return Case(case.id, case.group, given, case.expected)


def pod_positions(before: Case, after: Case) -> tuple[dict[str, int], dict[str, int]]:
    """Number the pods of both cases in the order of the case."""
    return tuple(
        {
            f"{body['metadata'].get('namespace', 'default')}/{body['metadata']['name']}": position
            for position, body in enumerate(case.given.get("pods") or ())
        }
        for case in (before, after)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("file", VECTORS, ids=lambda path: path.name.partition(".")[0])
def test_decisions_on_each_parity_case_and_its_anonymized_copy_are_equal(file: Path) -> None:
    for raw in read_cases(file):
        case = with_namespaces(raw)
        other = anonymized_case(case)
        registry = Registry(REGISTRY.classes, case.given.get("featureGates") or {})
        numbers = pod_positions(case, other)
        first, second = (
            summary(
                decide(each, registry),
                positions([body["metadata"]["name"] for body in each.given.get("nodes") or ()]),
                numbers[index],
            )
            for index, each in enumerate((case, other))
        )
        assert second == first, case.id


def outcomes(inventory: Inventory) -> list[Any]:
    """Schedule all waiting pods; return a summary of each outcome."""
    nodes = positions([body["metadata"]["name"] for body in inventory.bodies("Node")])
    profiles = [build_profile(REGISTRY, ProfileSettings(), parse_policy(each)) for each in inventory.policies]
    scheduler = Scheduler(7, [kube_profile("default-scheduler"), *profiles])
    for event in cluster_events(inventory, Decoder()):
        scheduler.apply(event, 0.0)
    found: list[Any] = []
    for outcome in run_until_idle(scheduler):
        match outcome:
            case Bind():
                found.append(nodes[outcome.node_name])  # the order of attempts is part of the result
            case Unschedulable():
                diagnosis = outcome.diagnosis
                found.append((sorted(diagnosis.unschedulable_plugins), sorted(diagnosis.reasons.values())))
            case _:
                found.append(type(outcome).__name__)
    return found


@st.composite
def policies(draw: st.DrawFn) -> Object:
    """Draw a policy that reads the labels of `node_objects` and `pod_objects`."""
    source = {"key": "rack", "spot": [draw(st.sampled_from(["r1", "R1"]))], "onDemand": ["r2"]}
    sections: Object = {
        "filters": draw(
            st.sampled_from(
                [
                    {},
                    {"lifecycles": ["spot", "on-demand"]},
                    {"nodeSelector": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}},
                    {"nodeSelector": {"matchLabels": {"rack": "r1"}}},
                    {"zones": {"deny": ["z-a"]}},
                ]
            )
        ),
        "lifecycle": {"sources": [source], "podLabel": "tier"},
        "gpu": {"resources": [EXTENDED]},
        "resources": {"weights": {EXTENDED: 3, "cpu": 1}},
        "allowedNamespaces": draw(st.sampled_from([{}, {"matchLabels": {"team": "a"}}])),
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": draw(st.sampled_from([{}, {"ignoredResources": [EXTENDED]}]))}
        ],
    }
    used = draw(st.sets(st.sampled_from(sorted(sections))))
    spec = {name: section for name, section in sections.items() if name in used}
    return {"kind": "SchedulingPolicy", "metadata": {"name": "batch"}, "spec": spec}


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    names = draw(st.lists(st.sampled_from(NODE_NAMES), min_size=1, unique=True))
    nodes = [draw(node_objects(name=name)) for name in names]
    placed = [
        draw(pod_objects(name=f"e{index}", node=draw(st.sampled_from(names))))
        for index in range(draw(st.integers(0, 4)))
    ]
    waiting = [draw(pod_objects(name=f"w{index}")) for index in range(draw(st.integers(1, 3)))]
    for pod in waiting:
        pod["spec"]["schedulerName"] = draw(st.sampled_from(["default-scheduler", "batch"]))
    namespaces = [
        {"kind": "Namespace", "metadata": {"name": name, "labels": labels}} for name, labels in NAMESPACE_LABELS.items()
    ]
    return Inventory.of([draw(policies()), *namespaces, *nodes, *placed, *waiting])


@given(inventories())
def test_decisions_on_generated_clusters_and_their_anonymized_copies_are_equal(inventory: Inventory) -> None:
    assert outcomes(anonymize(inventory).inventory) == outcomes(inventory)


@given(inventories())
def test_anonymizing_twice_changes_no_decision(inventory: Inventory) -> None:
    once = anonymize(inventory).inventory
    assert outcomes(anonymize(once).inventory) == outcomes(once)
