"""Preemption by deletion of victims: conditions, order, retries and cleared nominations."""

from typing import Any

import pytest

from builders import pod
from fakes import Sent
from moorage.engine.messages import TryAgain
from moorage.errors import ApiError, Conflict, Forbidden, NotFound
from runtime.preemption_scene import PREEMPTOR, preempting, victims
from scrape import sample

GONE = NotFound(404, "NotFound", "gone")
OTHER_UID = Conflict(409, "Conflict", "the UID in the precondition does not match")
UID_IN_PATCH = ApiError.of(422, "Invalid", 'Pod "a" is invalid: metadata.uid: Invalid value: "x": field is immutable')
BUSY = ApiError.of(500, "InternalError", "etcd is slow")


def forbid_pod_a(sent: Sent) -> Any:
    if "/pods/a" in sent.path:
        raise Forbidden(403, "Forbidden", "may not delete pods")
    return {}


async def test_the_condition_is_set_before_the_deletion_and_both_requests_have_the_uid() -> None:
    async with preempting() as at:
        at.submit(victims("low"))
        await at.wait()

    condition, deletion = at.api.sent
    assert at.sent == ["PATCH low/status", "DELETE low"]
    assert condition.content_type == "application/strategic-merge-patch+json"
    assert condition.body == {
        "metadata": {"uid": "default/low"},
        "status": {
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": "gpu: preempting to accommodate a higher priority pod",
                    "lastTransitionTime": "1970-01-12T13:46:40Z",
                }
            ]
        },
    }
    assert deletion.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "default/low"},
    }
    assert at.posted == []


async def test_a_preemption_is_recorded_as_an_event_and_counted() -> None:
    async with preempting() as at:
        at.submit(victims("low"))
        await at.wait()

    (event,) = at.recorder.events
    assert (event.reason, event.action, event.reporter, event.warning) == ("Preempted", "Preempting", "gpu", False)
    assert event.note == "Preempted by pod uid-of-high on node n1"
    assert event.related is not None
    assert event.related.name == "high"
    assert sample(at.metrics, "scheduler_preemption_attempts_total") == 1
    assert sample(at.metrics, "scheduler_preemption_victims_sum") == 1


async def test_the_last_victim_is_deleted_after_all_others() -> None:
    async with preempting() as at:
        at.submit(victims("a", "b", "c"))
        await at.wait()

    assert at.sent[:2] == ["PATCH a/status", "PATCH b/status"]  # at the same time
    assert at.sent[-2:] == ["PATCH c/status", "DELETE c"]
    assert len(at.sent) == 6


async def test_a_terminating_victim_is_skipped_and_a_victim_gets_its_condition_only_once() -> None:
    marked = pod("b", node="n1", status={"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ]})  # fmt: skip
    async with preempting() as at:
        at.submit([pod("a", node="n1", terminating=True), marked])
        await at.wait()

    assert at.sent == ["DELETE b"]


@pytest.mark.parametrize("refusal", [GONE, OTHER_UID, UID_IN_PATCH])
@pytest.mark.parametrize("strict", [False, True])
async def test_a_victim_that_no_longer_exists_is_treated_as_evicted(refusal: ApiError, *, strict: bool) -> None:
    def answer(sent: Sent) -> Any:
        if "/pods/a" in sent.path and (sent.method == "PATCH" or refusal is not UID_IN_PATCH):
            raise refusal
        return {}

    async with preempting(answer) as at:
        at.submit(victims("a", "b"), strict=strict)
        await at.wait()

    assert ("Preempted", "b") in at.events()
    assert at.posted == []


async def test_an_eviction_is_retried_while_the_api_server_fails() -> None:
    answers = [BUSY]

    def answer(_: Sent) -> Any:
        if answers:
            raise answers.pop()
        return {}

    async with preempting(answer) as at:
        at.submit(victims("a"))
        await at.wait()
        assert at.sent == ["PATCH a/status"]
        await at.wait(1)
        await at.wait()

        assert at.sent == ["PATCH a/status", "PATCH a/status", "DELETE a"]


async def test_a_failed_deletion_is_not_repeated_while_budgets_are_unknown() -> None:
    def answer(_: Sent) -> Any:
        raise ApiError(500, "InternalError", "the API server starts")

    async with preempting(answer) as made:
        made.evictor.knows_budgets = lambda: False
        made.submit(victims("a"))
        await made.wait(30)
        sent = len(made.api.sent)
        await made.wait(60)
    assert (sent, len(made.api.sent)) == (1, 1)
    assert made.posted == [TryAgain("uid-of-high", "")]


async def test_a_forbidden_deletion_is_not_retried_and_the_last_victim_is_kept() -> None:
    async with preempting(forbid_pod_a) as at:
        at.submit(victims("a", "b"))
        await at.wait()

    assert at.sent == ["PATCH a/status"]
    assert at.events() == [("PreemptionFailed", "high")]
    assert at.posted == [TryAgain(PREEMPTOR.uid)]


async def test_a_failed_deletion_keeps_the_nomination_as_kube_scheduler_does() -> None:
    async with preempting(forbid_pod_a) as at:
        at.submit(victims("a"))
        await at.wait()

    assert at.sent == ["PATCH a/status"]
    assert at.posted == [TryAgain(PREEMPTOR.uid, void_nomination="")]


async def test_a_replica_that_does_not_lead_evicts_and_reports_nothing() -> None:
    async with preempting() as at:
        at.api.may_write = lambda: False
        at.submit(victims("a", "b"))
        await at.wait()

    assert (at.sent, at.events(), at.posted) == ([], [], [])


async def test_nominations_of_displaced_pods_are_cleared_first() -> None:
    async with preempting() as at:
        at.submit(victims("a"), displaced=[pod("lower", priority=99)])
        await at.wait()

    assert at.sent == ["PATCH lower/status", "PATCH a/status", "DELETE a"]
    assert at.api.sent[0].body == {"metadata": {"uid": "default/lower"}, "status": {"nominatedNodeName": None}}


async def test_victims_are_evicted_even_if_a_nomination_cannot_be_cleared() -> None:
    def answer(sent: Sent) -> Any:
        if "lower" in sent.path:
            raise BUSY
        return {}

    async with preempting(answer) as at:
        at.submit(victims("a"), displaced=[pod("lower", priority=99)])
        await at.wait()

    assert at.sent[-1] == "DELETE a"


async def test_a_second_preemption_for_a_pod_is_ignored_while_the_first_runs() -> None:
    async with preempting() as at:
        at.submit(victims("a"))
        at.submit(victims("b"))
        await at.wait()
        assert at.sent == ["PATCH a/status", "DELETE a"]

        at.submit(victims("b"))
        await at.wait()
        assert at.sent[2:] == ["PATCH b/status", "DELETE b"]


async def test_a_bug_ends_one_preemption_only() -> None:
    async with preempting() as at:
        at.submit(victims("a"), displaced=[None])  # type: ignore[list-item]
        await at.wait()
        assert at.posted == [TryAgain(PREEMPTOR.uid)]

        at.submit(victims("a"))
        await at.wait()
        assert at.sent == ["PATCH a/status", "DELETE a"]
