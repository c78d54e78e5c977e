"""What `kubectl apply`, `edit` and `delete` of a SchedulingPolicy do to its pods, and what they tell its author."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.case import SOON_SECONDS, Case
from e2e.clusters import Manifest, eventually

NOWHERE: dict[str, Any] = {"filters": {"nodeSelector": {"matchLabels": {"no": "such"}}}}
WRONG_ARGUMENT: dict[str, Any] = {
    "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]
}

WRONG_FIELDS: dict[str, dict[str, Any]] = {
    'unknown field "spec.presett"': {"presett": "BinPack"},
    'spec.preset: Unsupported value: "BinPak"': {"preset": "BinPak"},
    "spec.weights.NodeResourcesFit: Invalid value: 101": {"weights": {"NodeResourcesFit": 101}},
    "spec.percentageOfNodesToScore": {"percentageOfNodesToScore": "many"},
    "spec.schedulerName: Invalid value": {"schedulerName": "not a label value!"},
    "default-scheduler is kube-scheduler's name": {"schedulerName": "default-scheduler"},
    "spec.backoff.maxSeconds": {"backoff": {"initialSeconds": 5, "maxSeconds": 2}},
    'spec.zones.spread: Unsupported value: "Always"': {"zones": {"spread": "Always"}},
    "spec.resources": {"resources": {"shape": [{"utilization": 0, "score": 0}]}},
    "spec.extenders[0].urlPrefix: Required value": {"extenders": [{"filterVerb": "filter"}]},
}
"""Specs by what the API server must say of them."""


def test_a_policy_is_live_at_once_and_its_pods_are_bound(case: Case) -> None:
    case.cluster.apply(case.policy(), case.pod("p"))
    assert case.bound("p")

    def shows() -> bool:
        row = case.cluster.kubectl("get", "schedulingpolicy", case.name, "--no-headers").split()
        return row[:6] == [case.name, case.name, "True", "0", "1", "0"]

    eventually(shows, SOON_SECONDS)
    status = case.get_policy()["status"]
    assert status["schedulerName"] == case.name
    assert status["observedGeneration"] == status["activeGeneration"] == 1
    assert status["lastBoundTime"]
    assert "Programmed" in case.cluster.kubectl("describe", "schedulingpolicy", case.name).partition("Events:")[2]


def test_pods_that_wait_are_tried_at_once_when_their_policy_is_edited(case: Case) -> None:
    case.live(**NOWHERE)
    case.cluster.apply(case.pod("p"))
    case.told("p", "FailedScheduling")
    case.cluster.apply(case.policy())
    assert case.bound("p")


def test_an_edit_counts_for_the_pods_that_come_after_it(case: Case) -> None:
    case.live()
    case.live(**NOWHERE)
    case.cluster.apply(case.pod("p"))
    assert " node(s) didn't match scheduler-enforced node affinity" in case.told("p", "FailedScheduling")
    status = case.get_policy()["status"]
    assert status["activeGeneration"] == 2


def test_wrong_fields_are_refused_by_name(case: Case) -> None:
    policies = [case.policy(f"-{number}", **spec) for number, spec in enumerate(WRONG_FIELDS.values())]
    complaint = case.refused(*policies)
    assert [words for words in WRONG_FIELDS if words not in complaint] == []
    assert case.cluster.items("schedulingpolicies", f"--selector=case={case.name}") == []


def test_a_scheduler_name_cannot_be_changed(case: Case) -> None:
    case.cluster.apply(case.policy())
    assert "schedulerName is immutable" in case.refused(case.policy(schedulerName=f"{case.name}-other"))


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"weights": {"NodeResourceFit": 5}}, "UnknownPlugin", "did you mean NodeResourcesFit?"),
        (WRONG_ARGUMENT, "InvalidSpec", "hardPodAffinityWeight"),
    ],
    ids=["unknown-plugin", "wrong-argument"],
)
def test_a_policy_that_cannot_be_used_leaves_the_last_good_one_in_force(
    case: Case, spec: dict[str, Any], reason: str, words: str
) -> None:
    case.live()
    case.cluster.apply(case.policy(**spec))

    def says_so() -> None:
        conditions = case.policy_conditions()
        assert (conditions["Accepted"]["status"], conditions["Accepted"]["reason"]) == ("False", reason)
        assert words in conditions["Accepted"]["message"]
        assert (conditions["Programmed"]["status"], conditions["Programmed"]["reason"]) == ("False", "LastGoodKept")
        assert conditions["Ready"]["status"] == "False"
        assert words in case.cluster.kubectl("describe", "schedulingpolicy", case.name).partition("Events:")[2]

    eventually(says_so, SOON_SECONDS)
    status = case.get_policy()["status"]
    assert (status["observedGeneration"], status["activeGeneration"]) == (2, 1)
    case.cluster.apply(case.pod("p"))
    assert case.bound("p")
    case.live(preset="BinPack")


def test_a_new_policy_that_cannot_be_used_binds_nothing_until_it_is_mended(case: Case) -> None:
    case.cluster.apply(case.policy(**WRONG_ARGUMENT), case.pod("p"))

    def says_so() -> None:
        assert case.policy_conditions()["Programmed"]["reason"] == "NotAccepted"

    eventually(says_so, SOON_SECONDS)
    assert not case.node_of("p")
    case.cluster.apply(case.policy())
    assert case.bound("p")


def test_pods_of_a_deleted_policy_wait_and_say_so(case: Case) -> None:
    case.live(**NOWHERE)
    case.cluster.apply(case.pod("waits"))
    case.told("waits", "FailedScheduling")
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    assert f"No SchedulingPolicy has the schedulerName {case.name}" in case.told("waits", "NoSchedulingPolicy")
    case.cluster.apply(case.pod("comes"))
    case.told("comes", "NoSchedulingPolicy")
    assert not case.node_of("comes")
    case.cluster.apply(case.policy())
    assert case.bound("waits")
    assert case.bound("comes")


def test_of_two_policies_with_one_scheduler_name_the_older_one_keeps_it(case: Case) -> None:
    case.live()
    case.cluster.apply(case.policy("-younger", schedulerName=case.name, **NOWHERE))

    def says_so() -> None:
        accepted = case.policy_conditions("-younger")["Accepted"]
        assert (accepted["status"], accepted["reason"]) == ("False", "NameConflict")
        assert f"belongs to the older policy {case.name}" in accepted["message"]

    eventually(says_so, SOON_SECONDS)
    assert case.is_live()
    case.cluster.apply(case.pod("p"))
    assert case.bound("p")
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    eventually(lambda: case.is_live("-younger"), SOON_SECONDS)
    case.cluster.apply(case.pod("q"))
    case.told("q", "FailedScheduling")


def test_pods_of_a_paused_policy_wait_until_it_goes_on(case: Case) -> None:
    case.cluster.apply(case.policy(paused=True), case.pod("p"))
    assert "is paused" in case.told("p", "SchedulingPaused")

    def says_so() -> None:
        conditions = case.policy_conditions()
        assert conditions["Accepted"]["status"] == "True"
        assert (conditions["Programmed"]["status"], conditions["Programmed"]["reason"]) == ("False", "Paused")
        assert case.get_policy()["status"]["pods"]["pending"] == 1

    eventually(says_so, SOON_SECONDS)
    assert not case.node_of("p")
    case.live()
    assert case.bound("p")


def test_every_field_is_documented(case: Case) -> None:
    def explained() -> None:
        text = case.cluster.kubectl("explain", "schedulingpolicies.spec.lifecycle")
        assert "prefer" in text
        assert "podLabel" in text

    eventually(explained)


def test_a_policy_that_is_made_anew_starts_anew(case: Case) -> None:
    """The new object's generation is 1 again; it must not pass for an old version of the one before."""
    case.live(**NOWHERE)
    case.live(**NOWHERE, percentageOfNodesToScore=50)
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    case.cluster.apply(case.policy(), case.pod("p"))
    assert case.bound("p")
    eventually(lambda: bound_pods(case.get_policy()) == 1, SOON_SECONDS)


def bound_pods(policy: Manifest) -> int:
    return int(policy["status"]["pods"]["bound"])
