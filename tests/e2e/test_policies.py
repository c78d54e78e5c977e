"""Users apply, edit and delete a SchedulingPolicy: the effect on its pods, and the status that its author reads."""

from __future__ import annotations

import time
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import pytest

from e2e.case import SOON_SECONDS, Case
from e2e.clusters import Manifest, eventually

NOWHERE: dict[str, Any] = {"filters": {"nodeSelector": {"matchLabels": {"no": "such"}}}}
WRONG_ARGUMENT: dict[str, Any] = {
    "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]
}

SMALL = {"cpu": "1", "memory": "1Gi", "pods": "10"}

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
"""Wrong specs. The key is a part of the API server's message."""


def test_a_new_policy_binds_its_pods_at_once_and_shows_it_in_its_status(case: Case) -> None:
    case.cluster.apply(case.policy(), case.pod("p"))
    assert case.wait_until_bound("p")

    def row_shows_the_bound_pod() -> bool:
        row = case.cluster.kubectl("get", "schedulingpolicy", case.name, "--no-headers").split()
        return row[:6] == [case.name, case.name, "True", "0", "1", "0"]

    eventually(row_shows_the_bound_pod, SOON_SECONDS)
    status = case.get_policy()["status"]
    assert status["schedulerName"] == case.name
    assert status["observedGeneration"] == status["activeGeneration"] == 1
    assert status["lastBoundTime"]
    assert "Programmed" in case.cluster.kubectl("describe", "schedulingpolicy", case.name).partition("Events:")[2]


def test_kubectl_get_has_no_empty_column_once_a_policy_is_ready(case: Case) -> None:
    case.make_live()
    row = case.cluster.kubectl("get", "schedulingpolicy", case.name, "--no-headers").split()
    assert row[:6] == [case.name, case.name, "True", "0", "0", "0"]
    assert len(row) == 7


def test_new_and_edited_policies_are_ready_within_a_second(case: Case) -> None:
    """The test checks the median, because a busy machine may delay a single answer."""
    seconds = []
    for suffix, spec in product(("-a", "-b", "-c"), ({}, {"preset": "BinPack"})):
        case.cluster.apply(case.policy(suffix, **spec))
        applied = time.monotonic()
        eventually(partial(case.is_live, suffix), SOON_SECONDS)
        seconds.append(time.monotonic() - applied)
    assert median(seconds) < 1


def test_editing_a_policy_retries_its_waiting_pods_at_once(case: Case) -> None:
    case.make_live(**NOWHERE)
    case.cluster.apply(case.pod("p"))
    case.wait_for_event("p", "FailedScheduling")
    case.cluster.apply(case.policy())
    assert case.wait_until_bound("p")


def test_an_edited_policy_applies_to_new_pods(case: Case) -> None:
    case.make_live()
    case.make_live(**NOWHERE)
    case.cluster.apply(case.pod("p"))
    assert " node(s) didn't match scheduler-enforced node affinity" in case.wait_for_event("p", "FailedScheduling")
    status = case.get_policy()["status"]
    assert status["activeGeneration"] == 2


def test_the_api_server_refuses_wrong_fields_and_names_them(case: Case) -> None:
    policies = [case.policy(f"-{number}", **spec) for number, spec in enumerate(WRONG_FIELDS.values())]
    complaint = case.refusal_of(*policies)
    assert [words for words in WRONG_FIELDS if words not in complaint] == []
    assert case.cluster.items("schedulingpolicies", f"--selector=case={case.name}") == []


def test_a_scheduler_name_cannot_be_changed(case: Case) -> None:
    case.cluster.apply(case.policy())
    assert "schedulerName is immutable" in case.refusal_of(case.policy(schedulerName=f"{case.name}-other"))


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"weights": {"NodeResourceFit": 5}}, "UnknownPlugin", "did you mean NodeResourcesFit?"),
        (WRONG_ARGUMENT, "InvalidSpec", "hardPodAffinityWeight"),
    ],
    ids=["unknown-plugin", "wrong-argument"],
)
def test_an_invalid_edit_leaves_the_last_good_version_live(
    case: Case, spec: dict[str, Any], reason: str, words: str
) -> None:
    case.make_live()
    case.cluster.apply(case.policy(**spec))

    def status_reports_it() -> None:
        conditions = case.policy_conditions()
        assert (conditions["Accepted"]["status"], conditions["Accepted"]["reason"]) == ("False", reason)
        assert words in conditions["Accepted"]["message"]
        assert (conditions["Programmed"]["status"], conditions["Programmed"]["reason"]) == ("False", "LastGoodKept")
        assert conditions["Ready"]["status"] == "False"
        assert words in case.cluster.kubectl("describe", "schedulingpolicy", case.name).partition("Events:")[2]

    eventually(status_reports_it, SOON_SECONDS)
    status = case.get_policy()["status"]
    assert (status["observedGeneration"], status["activeGeneration"]) == (2, 1)
    case.cluster.apply(case.pod("p"))
    assert case.wait_until_bound("p")
    case.make_live(preset="BinPack")


def test_a_new_invalid_policy_binds_no_pods_until_it_is_fixed(case: Case) -> None:
    case.cluster.apply(case.policy(**WRONG_ARGUMENT), case.pod("p"))

    def status_reports_it() -> None:
        assert case.policy_conditions()["Programmed"]["reason"] == "NotAccepted"

    eventually(status_reports_it, SOON_SECONDS)
    assert not case.node_of("p")
    case.cluster.apply(case.policy())
    assert case.wait_until_bound("p")


def test_pods_of_a_deleted_policy_wait_and_get_an_event(case: Case) -> None:
    case.make_live(**NOWHERE)
    case.cluster.apply(case.pod("waits"))
    case.wait_for_event("waits", "FailedScheduling")
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    assert f"No SchedulingPolicy has the schedulerName {case.name}" in case.wait_for_event(
        "waits", "SchedulingPolicyNotFound"
    )
    case.cluster.apply(case.pod("comes"))
    case.wait_for_event("comes", "SchedulingPolicyNotFound")
    assert not case.node_of("comes")
    case.cluster.apply(case.policy())
    assert case.wait_until_bound("waits")
    assert case.wait_until_bound("comes")


def test_the_condition_of_a_held_pod_has_a_reason_other_than_unschedulable(case: Case) -> None:
    """cluster-autoscaler and Karpenter would add nodes for the reason Unschedulable."""
    case.make_live(**NOWHERE)
    gated = case.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    case.cluster.apply(case.pod("old"), gated)

    def has_reason(suffix: str, reason: str) -> bool:
        scheduled = case.pod_conditions(suffix)["PodScheduled"]
        return (scheduled["status"], scheduled["reason"]) == ("False", reason)

    eventually(lambda: has_reason("old", "Unschedulable"), SOON_SECONDS)
    case.cluster.apply(case.policy(paused=True, **NOWHERE), case.pod("new"))
    for suffix in ("old", "new"):
        eventually(partial(has_reason, suffix, "SchedulingPolicyPaused"), SOON_SECONDS)
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    eventually(lambda: has_reason("old", "SchedulingPolicyNotFound"), SOON_SECONDS)
    case.cluster.apply(case.policy(**WRONG_ARGUMENT))
    eventually(lambda: has_reason("old", "SchedulingPolicyRefused"), SOON_SECONDS)
    assert "hardPodAffinityWeight" in case.pod_conditions("old")["PodScheduled"]["message"]
    assert has_reason("gated", "SchedulingGated")
    case.cluster.apply(case.policy(**NOWHERE))
    eventually(lambda: has_reason("old", "Unschedulable"), SOON_SECONDS)
    case.cluster.apply(case.policy())
    assert case.wait_until_bound("new")
    assert case.pod_conditions("new")["PodScheduled"]["status"] == "True"


def test_a_pod_gets_an_event_and_no_condition_if_its_scheduler_name_is_misspelled(case: Case) -> None:
    case.make_live(schedulerName=f"{case.name}-training")
    case.cluster.apply(
        case.pod("typo", schedulerName=f"{case.name}-trianing"), case.pod("other", schedulerName=f"{case.name}-volcano")
    )
    assert f"did you mean {case.name}-training?" in case.wait_for_event("typo", "UnknownSchedulerName")
    assert case.pod_conditions("typo") == case.pod_conditions("other") == {}
    assert case.notes("other", "UnknownSchedulerName") == []
    assert len(case.notes("typo", "UnknownSchedulerName")) == 1


def test_a_policy_with_a_warning_condition_is_ready(case: Case) -> None:
    types = {"allow": ["m5*", "no-such-type*"], "deny": ["m5*"]}
    case.make_live(filters={"instanceTypes": types, "zones": {"deny": ["no-such-zone"]}})
    warned = case.policy_conditions()["Warnings"]
    assert (warned["status"], warned["reason"]) == ("True", "AllowedAndDenied")
    for words in ("m5* is in allow and in deny", "no-such-type* matches", "no node is in the zone no-such-zone"):
        assert words in warned["message"]
    version = case.get_policy()["metadata"]["resourceVersion"]
    case.cluster.apply(case.node("unrelated"))
    case.make_live("-later")
    assert case.get_policy()["metadata"]["resourceVersion"] == version
    zone = {"topology.kubernetes.io/zone": "no-such-zone"}
    case.cluster.apply(case.node("of-the-zone", labels=zone))
    eventually(lambda: "no-such-zone" not in case.policy_conditions()["Warnings"]["message"], SOON_SECONDS)
    case.make_live()
    eventually(lambda: case.policy_conditions()["Warnings"]["status"] == "False", SOON_SECONDS)


def test_the_event_counts_a_full_node_as_excluded_if_the_policy_excludes_the_node(case: Case) -> None:
    types = {kind: {"node.kubernetes.io/instance-type": f"{case.name}.{kind}"} for kind in ("old", "new")}
    for number in range(4):
        case.cluster.apply(case.node(f"old-{number}", labels=types["old"], allocatable=SMALL))
    for number in range(2):
        case.cluster.apply(case.node(f"new-{number}", labels=types["new"], allocatable=SMALL))
    case.make_live(filters={"instanceTypes": {"deny": [f"{case.name}.o*"]}})
    case.cluster.apply(
        case.pod("p", requests={"cpu": "2"}, nodeSelector=case.labels(), tolerations=[{"operator": "Exists"}])
    )
    note = case.wait_for_event("p", "FailedScheduling")
    assert "2 Insufficient cpu" in note
    assert "4 node(s) had an instance type that the policy excludes" in note


def test_the_older_of_two_policies_with_the_same_scheduler_name_keeps_the_name(case: Case) -> None:
    case.make_live()
    case.cluster.apply(case.policy("-younger", schedulerName=case.name, **NOWHERE))

    def status_reports_it() -> None:
        accepted = case.policy_conditions("-younger")["Accepted"]
        assert (accepted["status"], accepted["reason"]) == ("False", "NameConflict")
        assert f"belongs to the older policy {case.name}" in accepted["message"]

    eventually(status_reports_it, SOON_SECONDS)
    assert case.is_live()
    case.cluster.apply(case.pod("p"))
    assert case.wait_until_bound("p")
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    eventually(lambda: case.is_live("-younger"), SOON_SECONDS)
    case.cluster.apply(case.pod("q"))
    case.wait_for_event("q", "FailedScheduling")


def test_pods_of_a_paused_policy_wait_until_it_is_unpaused(case: Case) -> None:
    case.cluster.apply(case.policy(paused=True), case.pod("p"))
    assert "is paused" in case.wait_for_event("p", "SchedulingPolicyPaused")

    def status_reports_it() -> None:
        conditions = case.policy_conditions()
        assert conditions["Accepted"]["status"] == "True"
        assert (conditions["Programmed"]["status"], conditions["Programmed"]["reason"]) == ("False", "Paused")
        assert case.get_policy()["status"]["pods"]["pending"] == 1

    eventually(status_reports_it, SOON_SECONDS)
    assert not case.node_of("p")
    case.make_live()
    assert case.wait_until_bound("p")


def test_kubectl_explain_documents_the_fields(case: Case) -> None:
    def explain_prints_the_fields() -> None:
        text = case.cluster.kubectl("explain", "schedulingpolicies.spec.lifecycle")
        assert "prefer" in text
        assert "podLabel" in text

    eventually(explain_prints_the_fields)


def test_a_recreated_policy_does_not_use_state_of_the_deleted_one(case: Case) -> None:
    """The new policy's generation is 1 again. The operator must not take it for an old version."""
    case.make_live(**NOWHERE)
    case.make_live(**NOWHERE, percentageOfNodesToScore=50)
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    case.cluster.apply(case.policy(), case.pod("p"))
    assert case.wait_until_bound("p")
    eventually(lambda: bound_pods(case.get_policy()) == 1, SOON_SECONDS)


def bound_pods(policy: Manifest) -> int:
    return int(policy["status"]["pods"]["bound"])


def test_the_status_names_the_filter_of_a_rejection_and_the_event_has_kube_schedulers_words(case: Case) -> None:
    case.make_live(filters={"zones": {"allow": ["nowhere-1a"]}})
    case.cluster.apply(case.pod("p"))
    note = case.wait_for_event("p", "FailedScheduling")
    assert " node(s) didn't match scheduler-enforced node affinity. " in note
    assert "filters." not in note

    def status_names_the_filter() -> bool:
        tops = case.get_policy()["status"]["topRejections"]
        return any(top.endswith(" scheduler-enforced node affinity (filters.zones)") for top in tops)

    eventually(status_names_the_filter, SOON_SECONDS)
