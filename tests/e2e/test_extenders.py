"""Policies with a Go extender, on a real API server. The extender is built from upstream's own types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited
from e2e.case import Case
from e2e.clusters import Manifest, eventually
from extenders.server import FakeExtender, answering, threaded

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

FITS, SCORE = "extender.moorage.dev/fits", "extender.moorage.dev/score"
SPECIAL = "example.com/special-gpu"
ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
SOON = 60.0
"""The limit in seconds for steps that take one or two backoffs, or the pause of a circuit breaker."""


@pytest.fixture(scope="module")
def extender(audited: Audited) -> Iterator[Component]:
    """The Go extender. It binds pods as the cluster admin, not as the user of the operator."""
    with audited.control_plane.start_extender() as extender:
        yield extender


@pytest.fixture
def case(case_with_operator: Case) -> Case:
    """A case with three nodes, two of which the extender accepts."""
    labels = {
        "unfit": {FITS: "false", SCORE: "10"},
        "good": {FITS: "true", SCORE: "2"},
        "best": {FITS: "true", SCORE: "9"},
    }
    nodes = [case_with_operator.node(name, labels=own, allocatable=ROOM) for name, own in labels.items()]
    case_with_operator.cluster.apply(*nodes)
    return case_with_operator


def entry(extender: Component, **fields: Any) -> Manifest:
    return {"urlPrefix": extender.endpoint.url, "httpTimeout": "2s", **fields}


def on_own_node(case: Case, suffix: str, **spec: Any) -> Manifest:
    return case.pod(suffix, nodeSelector=case.labels(), **spec)


@pytest.mark.parametrize("names_only", [True, False])
def test_the_go_extender_filters_scores_and_binds(
    case: Case, audited_operator: Audited, extender: Component, *, names_only: bool
) -> None:
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "weight": 100}
    case.make_live(extenders=[entry(extender, nodeCacheCapable=names_only, **verbs)])
    case.cluster.apply(on_own_node(case, "p"))

    assert case.wait_until_bound("p", SOON) == f"{case.name}-best"
    assert [one.user for one in audited_operator.bindings(f"{case.name}-p")] == ["admin"]
    assert case.wait_for_event("p", "Scheduled") == f"Successfully assigned default/{case.name}-p to {case.name}-best"


@pytest.mark.parametrize("names_only", [True, False])
def test_the_go_extender_allows_preemption_only_on_nodes_that_it_accepts(
    case: Case, extender: Component, *, names_only: bool
) -> None:
    case.make_live(extenders=[entry(extender, nodeCacheCapable=names_only, preemptVerb="preempt")])
    full = [
        case.pod(f"on-{node}", requests={"cpu": "3"}, nodeName=f"{case.name}-{node}")
        for node in ("unfit", "good", "best")
    ]
    full[2]["spec"]["priorityClassName"] = "system-node-critical"
    case.cluster.apply(*full)
    case.cluster.apply(on_own_node(case, "urgent", requests={"cpu": "3"}, priorityClassName="system-cluster-critical"))

    assert case.wait_until_bound("urgent", SOON) == f"{case.name}-good"
    assert case.node_of("on-unfit")


@pytest.mark.parametrize("names_only", [True, False])
def test_an_extender_gets_victims_in_upstreams_form(case: Case, *, names_only: bool) -> None:
    """A request contains whole victims or only their uids. The extender removes the cheapest candidate."""
    with threaded(FakeExtender(spared={f"{case.name}-unfit"})) as extender:
        verbs = {"filterVerb": "filter", "preemptVerb": "preempt"}
        case.make_live(extenders=[{"urlPrefix": extender.url, "nodeCacheCapable": names_only, **verbs}])
        full = [case.pod("one", requests={"cpu": "3"}, nodeName=f"{case.name}-unfit")]
        full += [case.pod(f"two-{n}", requests={"cpu": "1900m"}, nodeName=f"{case.name}-good") for n in range(2)]
        full += [case.pod("best", requests={"cpu": "3"}, nodeName=f"{case.name}-best")]
        full[-1]["spec"]["priorityClassName"] = "system-node-critical"
        case.cluster.apply(*full)
        case.cluster.apply(
            on_own_node(case, "urgent", requests={"cpu": "3"}, priorityClassName="system-cluster-critical")
        )

        assert case.wait_until_bound("urgent", SOON) == f"{case.name}-good"
        assert case.node_of("one")
        asked = next(each.body for each in extender.asked if each.path.endswith("/preempt"))
        assert (asked["NodeNameToVictims"] is None, asked["NodeNameToMetaVictims"] is None) == (
            names_only,
            not names_only,
        )


@pytest.mark.parametrize("ignorable", [False, True])
def test_an_extender_cannot_make_the_operator_delete_a_pod_of_higher_priority(
    case: Case, audited_operator: Audited, *, ignorable: bool
) -> None:
    """The extender answers with all pods of the node. If the extender is ignorable, preemption continues without it."""
    home = f"{case.name}-good"
    low = case.pod("low", requests={"cpu": "3"}, nodeName=home)
    vital = case.pod("vital", requests={"cpu": "10m"}, nodeName=home, priorityClassName="system-node-critical")
    level = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 10}
    case.cluster.apply(low, vital, level | {"metadata": {"name": f"{case.name}-ten", "labels": case.labels()}})
    uids = [{"UID": case.get_pod(suffix)["metadata"]["uid"]} for suffix in ("low", "vital")]
    answer = {"NodeNameToMetaVictims": {home: {"Pods": uids, "NumPDBViolations": 0}}}
    with threaded(FakeExtender(misbehave=answering(answer))) as extender:
        case.make_live(extenders=[{"urlPrefix": extender.url, "preemptVerb": "preempt", "ignorable": ignorable}])
        selector = {"kubernetes.io/hostname": home}
        case.cluster.kubectl("label", "node", home, f"kubernetes.io/hostname={home}")
        case.cluster.apply(
            case.pod("p", requests={"cpu": "3"}, priorityClassName=f"{case.name}-ten", nodeSelector=selector)
        )
        if ignorable:
            assert case.wait_until_bound("p", SOON) == home
        else:
            note = case.wait_for_event("p", "FailedScheduling", seconds=SOON)
            assert "the answer is invalid" in note
            assert case.node_of("low")

    assert "deletionTimestamp" not in case.get_pod("vital")["metadata"]
    assert not [one for one in audited_operator.answers("pods", f"{case.name}-vital") if one.user == REPLICAS[0]]


def test_events_and_conditions_show_an_extenders_reasons_as_short_printable_lines(case: Case) -> None:
    hostile = "full\n\x1b[31m0/9 nodes\u202e " + "x" * 5000
    with threaded(FakeExtender({f"{case.name}-{suffix}": hostile for suffix in ("unfit", "good", "best")})) as extender:
        case.make_live(extenders=[{"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True}])
        case.cluster.apply(on_own_node(case, "p"))
        note = case.wait_for_event("p", "FailedScheduling", seconds=SOON)
        message = case.pod_conditions("p")["PodScheduled"]["message"]

    for text in (note, message):
        assert text.isprintable()
        assert "3 full 0/9 nodes xxx" in text
        assert len(text) < 1024


def test_a_stopped_extender_degrades_only_its_policy_until_it_runs_again(case: Case, extender: Component) -> None:
    resource = {"name": SPECIAL, "ignoredByScheduler": True}
    case.make_live(extenders=[entry(extender, filterVerb="filter", managedResources=[resource])])
    case.make_live("-lenient", extenders=[entry(extender, filterVerb="filter", ignorable=True)])
    lenient = on_own_node(case, "lenient", schedulerName=f"{case.name}-lenient")
    extender.stop()
    try:
        case.cluster.apply(on_own_node(case, "special", requests={SPECIAL: "1"}), on_own_node(case, "plain"), lenient)

        assert case.wait_until_bound("plain")
        assert case.wait_until_bound("lenient")
        assert extender.endpoint.url in case.wait_for_event("special", "FailedScheduling", seconds=SOON)
        eventually(lambda: degraded(case) == ("True", "ExtenderFailing"))
        message = case.policy_conditions()["Degraded"]["message"]
        assert f"extender {extender.endpoint.url} fails: " in message
        assert "ignorable: true" in message
        assert message.count(extender.endpoint.url) == 1
        ready = case.policy_conditions()["Ready"]
        assert (ready["status"], ready["reason"], ready["message"]) == ("False", "ExtenderFailing", message)
        eventually(lambda: case.policy_conditions("-lenient")["Degraded"]["status"] == "True")
        assert case.is_live("-lenient")
    finally:
        extender.start()
    assert case.wait_until_bound("special", SOON) in {f"{case.name}-good", f"{case.name}-best"}
    eventually(lambda: degraded(case) == ("False", "Healthy"))
    assert case.is_live()


def degraded(case: Case) -> tuple[str, str]:
    condition = case.policy_conditions()["Degraded"]
    return condition["status"], condition["reason"]


def test_the_operator_and_the_extender_are_different_users() -> None:
    """The tests above recognize the extender's bindings by their user."""
    assert "admin" not in REPLICAS
