"""A canary on both API servers: it takes a share of the pods of another policy, and returns them by one edit."""

from __future__ import annotations

import json

import pytest

from controlplane.component import Component
from e2e.case import SOON_SECONDS, Case
from e2e.clusters import eventually
from e2e.test_why import Scene

pytestmark = pytest.mark.slow

PODS = 20
NOWHERE = {"no": "such"}


def bound(case: Case, suffix: str = "") -> int:
    """Return how many pods the present generation of a policy has bound."""
    return int(case.get_policy(suffix)["status"]["pods"]["bound"])


def create_pods(case: Case, prefix: str, count: int = PODS) -> None:
    case.cluster.apply(*(case.pod(f"{prefix}{number}", requests={"cpu": "10m"}) for number in range(count)))
    eventually(lambda: all(case.node_of(f"{prefix}{number}") for number in range(count)), SOON_SECONDS)


def test_pods_are_shared_promoted_and_withdrawn_by_edits_of_the_canary(case: Case) -> None:
    case.make_live()
    case.make_live("-next", canary={"of": case.name, "percent": 50})
    create_pods(case, "shared")
    eventually(lambda: bound(case) + bound(case, "-next") == PODS, SOON_SECONDS)
    assert 0 < bound(case, "-next") < PODS
    kept = bound(case)

    case.make_live("-next", canary={"of": case.name, "percent": 100})
    create_pods(case, "promoted")
    eventually(lambda: (bound(case), bound(case, "-next")) == (kept, PODS), SOON_SECONDS)

    case.make_live("-next", canary={"of": case.name, "percent": 0})
    create_pods(case, "withdrawn")
    eventually(lambda: (bound(case), bound(case, "-next")) == (kept + PODS, 0), SOON_SECONDS)


def test_waiting_pods_return_when_the_canary_is_deleted(case: Case) -> None:
    case.make_live()
    case.make_live(
        "-next", canary={"of": case.name, "percent": 100}, filters={"nodeSelector": {"matchLabels": NOWHERE}}
    )
    case.cluster.apply(case.pod("p"))
    case.wait_for_event("p", "FailedScheduling")

    case.cluster.kubectl("delete", "schedulingpolicy", f"{case.name}-next")

    assert case.wait_until_bound("p")


def test_the_status_and_moorage_why_name_the_canary(case: Case, operator: Component) -> None:
    scene = Scene(case, operator)
    case.make_live("-next", canary={"of": case.name, "percent": 100})
    programmed = case.policy_conditions("-next")["Programmed"]
    assert (programmed["reason"], programmed["message"]) == (
        "Canary",
        f"takes 100 % of the pods of the policy {case.name}",
    )
    create_pods(case, "p", 1)

    assert f"Policy {case.name}-next, generation 1, a canary for pods with schedulerName {case.name}" in scene.why("p0")
    record = json.loads(scene.why("p0", "--output=json"))["records"][0]
    assert (record["policy"]["name"], record["canaryOf"]) == (f"{case.name}-next", case.name)
    (event,) = [each for each in case.events() if each["regarding"]["name"] == f"{case.name}-p0"]
    assert event["reason"] == "Scheduled"


def test_a_canary_of_an_unknown_policy_has_a_warning(case: Case) -> None:
    case.make_live("-next", canary={"of": case.name, "percent": 10})

    def warns() -> None:
        warning = case.policy_conditions("-next")["Warnings"]
        assert (warning["status"], warning["reason"]) == ("True", "CanaryTakesNoPods")
        assert warning["message"] == f"spec.canary takes no pods: no live policy has the name {case.name}"

    eventually(warns, SOON_SECONDS)
    case.make_live()
    eventually(lambda: case.policy_conditions("-next")["Warnings"]["status"] == "False", SOON_SECONDS)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"canary": {"of": "NAME", "percent": 10}}, "a policy cannot be a canary of itself; name another policy"),
        ({"canary": {"of": "other", "percent": 101}}, "spec.canary.percent"),
        (
            {"mode": "Shadow", "shadowOf": "x", "canary": {"of": "other", "percent": 1}},
            "a policy in mode Shadow binds no pods, so it cannot be a canary",
        ),
    ],
)
def test_a_wrong_canary_is_refused_by_the_api_server(case: Case, spec: dict[str, object], message: str) -> None:
    written = json.loads(json.dumps(spec).replace("NAME", case.name))
    assert message in case.refusal_of(case.policy(**written))
