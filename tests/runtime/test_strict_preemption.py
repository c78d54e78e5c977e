"""Preemption with `pdbPolicy: Strict`: the eviction subresource, disruption budgets, and cleared nominations."""

from typing import Any

from fakes import Sent
from moorage.engine.messages import TryAgain
from moorage.errors import ApiError, Forbidden, NotFound, TooManyRequests
from moorage.runtime.preemption.evictor import TRIES
from runtime.preemption_scene import PREEMPTOR, preempting, victims

BUDGET = ApiError.of(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")


def refuse_evictions(sent: Sent) -> Any:
    if sent.method == "POST":
        raise BUDGET
    return {}


async def test_a_victim_is_evicted_and_then_its_condition_gets_our_reason() -> None:
    async with preempting() as at:
        at.submit(victims("low"), strict=True)
        await at.wait()

    assert at.sent == ["POST low/eviction", "PATCH low/status"]
    assert at.api.sent[0].body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "low", "namespace": "default"},
        "deleteOptions": {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "default/low"},
        },
    }
    assert at.events() == [("Preempted", "low")]


async def test_an_eviction_succeeds_even_if_the_pod_is_gone_before_its_condition_is_set() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "PATCH":
            raise NotFound(404, "NotFound", "gone")
        return {}

    async with preempting(answer) as at:
        at.submit(victims("low"), strict=True)
        await at.wait()

    assert at.events() == [("Preempted", "low")]


async def test_victims_are_evicted_one_after_the_other_until_the_first_failure() -> None:
    def answer(sent: Sent) -> Any:
        if "/pods/b" in sent.path:
            raise Forbidden(403, "Forbidden", "may not evict pods")
        return {}

    async with preempting(answer) as at:
        at.submit(victims("a", "b", "c"), strict=True)
        await at.wait()

    assert at.sent == ["POST a/eviction", "PATCH a/status", "POST b/eviction", "PATCH high/status"]


async def test_the_nomination_is_cleared_when_a_budget_forbids_the_eviction() -> None:
    async with preempting(refuse_evictions) as at:
        at.submit(victims("a"), strict=True)
        await at.wait(1 + 2 + 4 + 8)
        await at.wait()

    assert at.api.sent[-1].body == {"metadata": {"uid": "uid-of-high"}, "status": {"nominatedNodeName": None}}
    assert at.posted == [TryAgain(PREEMPTOR.uid, void_nomination="n1")]


async def test_an_eviction_that_a_budget_forbids_is_retried_and_then_reported() -> None:
    async with preempting(refuse_evictions) as at:
        at.submit(victims("a", "b"), strict=True)
        await at.wait(1 + 2 + 4)
        assert at.posted == []
        await at.wait(8)

        assert at.clock.slept.count(8) == 1
        assert at.sent == [*["POST a/eviction"] * TRIES, "PATCH high/status"]
        assert len(at.posted) == 1
    (event,) = at.recorder.events
    assert (event.reason, event.regarding.name, event.warning) == ("PreemptionFailed", "high", True)
    assert event.note == (
        "Pod default/a on node n1 could not be evicted; another attempt follows: "
        "Cannot evict pod as it would violate the pod's disruption budget. (429 TooManyRequests)"
    )


async def test_a_victim_is_evicted_once_its_budget_allows_it() -> None:
    refusals: list[ApiError] = [BUDGET, TooManyRequests("TooManyRequests", "still being processed", 7)]

    def answer(sent: Sent) -> Any:
        if refusals and sent.method == "POST":
            raise refusals.pop(0)
        return {}

    async with preempting(answer) as at:
        at.submit(victims("a"), strict=True)
        await at.wait(1)
        await at.wait()

        assert at.api.clock.slept == [7]  # the client itself obeys Retry-After
        assert at.events() == [("Preempted", "a")]
