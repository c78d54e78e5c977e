"""An extender in Go, built from upstream's own types, named in policies on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited
from e2e.case import Case
from e2e.clusters import Manifest, eventually
from extenders.server import FakeExtender, threaded

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

FITS, SCORE = "extender.moorage.dev/fits", "extender.moorage.dev/score"
SPECIAL = "example.com/special-gpu"
ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
SOON = 60.0
"""Seconds for what takes a backoff or two, and a circuit breaker's pause."""


@pytest.fixture(scope="module")
def extender(audited: Audited) -> Iterator[Component]:
    """The extender; it binds as the cluster admin, not as the operator."""
    with audited.control_plane.start_extender() as extender:
        yield extender


@pytest.fixture
def case(attended_case: Case) -> Case:
    """A case with three nodes, of which the extender likes two."""
    labels = {
        "unfit": {FITS: "false", SCORE: "10"},
        "good": {FITS: "true", SCORE: "2"},
        "best": {FITS: "true", SCORE: "9"},
    }
    nodes = [attended_case.node(name, labels=own, allocatable=ROOM) for name, own in labels.items()]
    attended_case.cluster.apply(*nodes)
    return attended_case


def entry(extender: Component, **fields: Any) -> Manifest:
    return {"urlPrefix": extender.endpoint.url, "httpTimeout": "2s", **fields}


def here(case: Case, suffix: str, **spec: Any) -> Manifest:
    return case.pod(suffix, nodeSelector=case.here(), **spec)


@pytest.mark.parametrize("names_only", [True, False])
def test_it_filters_ranks_and_binds(case: Case, attended: Audited, extender: Component, *, names_only: bool) -> None:
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "weight": 100}
    case.live(extenders=[entry(extender, nodeCacheCapable=names_only, **verbs)])
    case.cluster.apply(here(case, "p"))

    assert case.bound("p", SOON) == f"{case.name}-best"
    assert [one.user for one in attended.bindings(f"{case.name}-p")] == ["admin"]
    assert case.told("p", "Scheduled") == f"Successfully assigned default/{case.name}-p to {case.name}-best"


@pytest.mark.parametrize("names_only", [True, False])
def test_it_keeps_victims_on_nodes_that_it_likes(case: Case, extender: Component, *, names_only: bool) -> None:
    case.live(extenders=[entry(extender, nodeCacheCapable=names_only, preemptVerb="preempt")])
    full = [
        case.pod(f"on-{node}", requests={"cpu": "3"}, nodeName=f"{case.name}-{node}")
        for node in ("unfit", "good", "best")
    ]
    full[2]["spec"]["priorityClassName"] = "system-node-critical"
    case.cluster.apply(*full)
    case.cluster.apply(here(case, "urgent", requests={"cpu": "3"}, priorityClassName="system-cluster-critical"))

    assert case.bound("urgent", SOON) == f"{case.name}-good"
    assert case.node_of("on-unfit")


@pytest.mark.parametrize("names_only", [True, False])
def test_one_in_python_is_sent_what_upstreams_types_say(case: Case, *, names_only: bool) -> None:
    """Victims with their node names or their uids; it lets nobody be preempted on the node with the fewest."""
    with threaded(FakeExtender(spared={f"{case.name}-unfit"})) as extender:
        verbs = {"filterVerb": "filter", "preemptVerb": "preempt"}
        case.live(extenders=[{"urlPrefix": extender.url, "nodeCacheCapable": names_only, **verbs}])
        full = [case.pod("one", requests={"cpu": "3"}, nodeName=f"{case.name}-unfit")]
        full += [case.pod(f"two-{n}", requests={"cpu": "1900m"}, nodeName=f"{case.name}-good") for n in range(2)]
        full += [case.pod("best", requests={"cpu": "3"}, nodeName=f"{case.name}-best")]
        full[-1]["spec"]["priorityClassName"] = "system-node-critical"
        case.cluster.apply(*full)
        case.cluster.apply(here(case, "urgent", requests={"cpu": "3"}, priorityClassName="system-cluster-critical"))

        assert case.bound("urgent", SOON) == f"{case.name}-good"
        assert case.node_of("one")
        asked = next(each.body for each in extender.asked if each.path.endswith("/preempt"))
        assert (asked["NodeNameToVictims"] is None, asked["NodeNameToMetaVictims"] is None) == (
            names_only,
            not names_only,
        )


def test_a_dead_one_degrades_its_policy_alone_until_it_is_back(case: Case, extender: Component) -> None:
    resource = {"name": SPECIAL, "ignoredByScheduler": True}
    case.live(extenders=[entry(extender, filterVerb="filter", managedResources=[resource])])
    case.live("-lenient", extenders=[entry(extender, filterVerb="filter", ignorable=True)])
    lenient = here(case, "lenient", schedulerName=f"{case.name}-lenient")
    extender.stop()
    try:
        case.cluster.apply(here(case, "special", requests={SPECIAL: "1"}), here(case, "plain"), lenient)

        assert case.bound("plain")
        assert case.bound("lenient")
        assert extender.endpoint.url in case.told("special", "FailedScheduling", seconds=SOON)
        eventually(lambda: degraded(case) == ("True", "ExtenderFailing"))
        message = case.policy_conditions()["Degraded"]["message"]
        assert f"extender {extender.endpoint.url} fails: " in message
        assert "ignorable: true" in message
        assert case.policy_conditions()["Ready"]["status"] == "True"
    finally:
        extender.start()
    assert case.bound("special", SOON) in {f"{case.name}-good", f"{case.name}-best"}
    eventually(lambda: degraded(case) == ("False", "Healthy"))


def degraded(case: Case) -> tuple[str, str]:
    condition = case.policy_conditions()["Degraded"]
    return condition["status"], condition["reason"]


def test_the_operator_is_not_the_admin_that_binds_for_the_extender() -> None:
    """Or the tests above would not tell who binds."""
    assert "admin" not in REPLICAS
