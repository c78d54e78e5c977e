"""Carrying preemption out: conditions, deletions, evictions, and victims that don't go."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import pod
from fakes import FakeApi, FakeClock, FakeObserver, FakeRecorder, Sent, settle
from moorage.engine.cycle.decision import Diagnosis
from moorage.engine.outcomes import Unschedulable
from moorage.errors import ApiError, Conflict, Forbidden, NotFound, TooManyRequests
from moorage.framework.profile import Profile, ProfileSettings
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.preemption.evicted_pods import SPARE_SECONDS
from moorage.runtime.preemption.evictor import TRIES, Evictor

PREEMPTOR = pod("high", priority=100, metadata={"uid": "uid-of-high"}, status={"nominatedNodeName": "n1"})
BUSY = ApiError.of(500, "InternalError", "etcd is slow")
BUDGET = ApiError.of(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")


def victims(*names: str) -> list[Pod]:
    return [pod(name, node="n1") for name in names]


class Scene:
    """An evictor and everything around it. The clock stands still, unless the test moves it."""

    def __init__(self, answer: Callable[[Sent], Any]) -> None:
        self.clock = FakeClock()
        self.api = FakeApi(answer)
        self.recorder, self.observer = FakeRecorder(), FakeObserver()
        self.displaced: list[Pod] = []
        self.there: set[str] = set()
        self.retried: list[Pod] = []
        self.void: list[str] = []
        self.evictor = Evictor(self.api.client(), self.recorder, self.observer, self.clock, self)

    def is_there(self, one: Pod) -> bool:
        return one.uid in self.there

    def retry(self, preemptor: Pod, void_nomination: str = "") -> None:
        self.retried.append(preemptor)
        self.void.append(void_nomination)

    def submit(self, of: Iterable[Pod], *, strict: bool = False) -> None:
        settings = ProfileSettings(strict_preemption=strict)
        self.evictor.submit(
            Unschedulable(
                pod=PREEMPTOR,
                profile=Profile(name="gpu", queue_sort=PrioritySort(), settings=settings),
                message="no room",
                diagnosis=Diagnosis(total_nodes=1, reasons={}),
                nominated_node_name="n1",
                victims=tuple(of),
                displaced=self.displaced,
                attempts=1,
                unchanged=False,
            )
        )

    async def wait(self, seconds: float = 0) -> None:
        for _ in range(10):
            await settle()
        await self.clock.advance(seconds)

    @property
    def sent(self) -> list[str]:
        return [f"{sent.method} {sent.path.rpartition('/pods/')[2]}" for sent in self.api.sent]

    def reasons(self) -> list[tuple[str, str]]:
        return [(event.reason, event.regarding.name) for event in self.recorder.events]


@asynccontextmanager
async def scene(answer: Callable[[Sent], Any] = lambda _: {}) -> AsyncIterator[Scene]:
    made = Scene(answer)
    running = asyncio.create_task(made.evictor.run())
    yield made
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_the_condition_comes_first_and_the_uid_guards_both() -> None:
    async with scene() as at:
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
    (event,) = at.recorder.events
    assert (event.reason, event.action, event.reporter, event.warning) == ("Preempted", "Preempting", "gpu", False)
    assert event.note == "Preempted by pod uid-of-high on node n1"
    assert event.related is not None
    assert event.related.name == "high"
    assert at.observer.named("preemption") == [(1,)]
    assert at.retried == []


async def test_the_last_victim_goes_when_all_others_are_on_their_way() -> None:
    async with scene() as at:
        at.submit(victims("a", "b", "c"))
        await at.wait()

    assert at.sent[:2] == ["PATCH a/status", "PATCH b/status"]  # side by side
    assert at.sent[-2:] == ["PATCH c/status", "DELETE c"]
    assert len(at.sent) == 6


async def test_victims_that_end_already_are_left_alone() -> None:
    marked = pod("b", node="n1", status={"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ]})  # fmt: skip
    async with scene() as at:
        at.submit([pod("a", node="n1", terminating=True), marked])
        await at.wait()

    assert at.sent == ["DELETE b"]


GONE = NotFound(404, "NotFound", "gone")
OTHER_UID = Conflict(409, "Conflict", "the UID in the precondition does not match")
UID_IN_PATCH = ApiError.of(422, "Invalid", 'Pod "a" is invalid: metadata.uid: Invalid value: "x": field is immutable')


@pytest.mark.parametrize("refusal", [GONE, OTHER_UID, UID_IN_PATCH])
@pytest.mark.parametrize("strict", [False, True])
async def test_victims_that_are_gone_make_room_too(refusal: ApiError, *, strict: bool) -> None:
    def answer(sent: Sent) -> Any:
        if "/pods/a" in sent.path and (sent.method == "PATCH" or refusal is not UID_IN_PATCH):
            raise refusal
        return {}

    async with scene(answer) as at:
        at.submit(victims("a", "b"), strict=strict)
        await at.wait()

    assert ("Preempted", "b") in at.reasons()
    assert at.retried == []


async def test_strict_victims_are_evicted_and_marked_as_ours_afterwards() -> None:
    async with scene() as at:
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
    assert at.reasons() == [("Preempted", "low")]


async def test_an_eviction_counts_though_its_pod_is_gone_before_it_is_marked() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "PATCH":
            raise NotFound(404, "NotFound", "gone")
        return {}

    async with scene(answer) as at:
        at.submit(victims("low"), strict=True)
        await at.wait()

    assert at.reasons() == [("Preempted", "low")]


def refusing_evictions(sent: Sent) -> Any:
    if sent.method == "POST":
        raise BUDGET
    return {}


async def test_strict_victims_are_evicted_one_after_the_other_until_one_may_not_go() -> None:
    def answer(sent: Sent) -> Any:
        if "/pods/b" in sent.path:
            raise Forbidden(403, "Forbidden", "may not evict pods")
        return {}

    async with scene(answer) as at:
        at.submit(victims("a", "b", "c"), strict=True)
        await at.wait()

    assert at.sent == ["POST a/eviction", "PATCH a/status", "POST b/eviction", "PATCH high/status"]


async def test_a_nomination_whose_victims_stay_is_taken_back_where_budgets_hold() -> None:
    async with scene(refusing_evictions) as at:
        at.submit(victims("a"), strict=True)
        await at.wait(1 + 2 + 4 + 8)
        await at.wait()

    assert at.api.sent[-1].body == {"metadata": {"uid": "uid-of-high"}, "status": {"nominatedNodeName": None}}
    assert (at.retried, at.void) == ([PREEMPTOR], ["n1"])


async def test_a_nomination_whose_victims_stay_is_kept_where_kube_scheduler_keeps_it() -> None:
    def answer(_: Sent) -> Any:
        raise Forbidden(403, "Forbidden", "may not delete pods")

    async with scene(answer) as at:
        at.submit(victims("a"))
        await at.wait()

    assert at.sent == ["PATCH a/status"]
    assert (at.retried, at.void) == ([PREEMPTOR], [""])


async def test_a_budget_is_waited_for_and_in_the_end_respected() -> None:
    async with scene(refusing_evictions) as at:
        at.submit(victims("a", "b"), strict=True)
        await at.wait(1 + 2 + 4)
        assert at.retried == []
        await at.wait(8)

        assert at.clock.slept.count(8) == 1
        assert at.sent == [*["POST a/eviction"] * TRIES, "PATCH high/status"]
        assert at.retried == [PREEMPTOR]
    (event,) = at.recorder.events
    assert (event.reason, event.regarding.name, event.warning) == ("PreemptionFailed", "high", True)
    assert event.note == (
        "Pod default/a on node n1 could not be evicted, another attempt follows: "
        "Cannot evict pod as it would violate the pod's disruption budget. (429 TooManyRequests)"
    )


async def test_a_budget_that_frees_up_lets_the_victim_go() -> None:
    refusals: list[ApiError] = [BUDGET, TooManyRequests("TooManyRequests", "still being processed", 7)]

    def answer(sent: Sent) -> Any:
        if refusals and sent.method == "POST":
            raise refusals.pop(0)
        return {}

    async with scene(answer) as at:
        at.submit(victims("a"), strict=True)
        await at.wait(1)
        await at.wait()

        assert at.api.clock.slept == [7]  # the client itself obeys Retry-After
        assert at.reasons() == [("Preempted", "a")]


async def test_a_slow_api_server_is_asked_again() -> None:
    answers = [BUSY]

    def answer(_: Sent) -> Any:
        if answers:
            raise answers.pop()
        return {}

    async with scene(answer) as at:
        at.submit(victims("a"))
        await at.wait()
        assert at.sent == ["PATCH a/status"]
        await at.wait(1)
        await at.wait()

        assert at.sent == ["PATCH a/status", "PATCH a/status", "DELETE a"]


async def test_what_is_forbidden_is_not_asked_twice_and_spares_the_last_victim() -> None:
    def answer(sent: Sent) -> Any:
        if "/pods/a" in sent.path:
            raise Forbidden(403, "Forbidden", "may not delete pods")
        return {}

    async with scene(answer) as at:
        at.submit(victims("a", "b"))
        await at.wait()

    assert at.sent == ["PATCH a/status"]
    assert at.reasons() == [("PreemptionFailed", "high")]
    assert at.retried == [PREEMPTOR]


async def test_nobody_is_evicted_by_who_does_not_lead_and_nobody_is_told() -> None:
    async with scene() as at:
        at.api.may_write = lambda: False
        at.submit(victims("a", "b"))
        await at.wait()

    assert (at.sent, at.reasons(), at.retried) == ([], [], [])


async def test_nominations_of_lower_priority_are_taken_back() -> None:
    async with scene() as at:
        at.displaced = [pod("lower", priority=99)]
        at.submit(victims("a"))
        await at.wait()

    assert at.sent == ["PATCH lower/status", "PATCH a/status", "DELETE a"]
    assert at.api.sent[0].body == {"metadata": {"uid": "default/lower"}, "status": {"nominatedNodeName": None}}


async def test_a_nomination_that_cannot_be_taken_back_does_not_save_the_victim() -> None:
    def answer(sent: Sent) -> Any:
        if "lower" in sent.path:
            raise BUSY
        return {}

    async with scene(answer) as at:
        at.displaced = [pod("lower", priority=99)]
        at.submit(victims("a"))
        await at.wait()

    assert at.sent[-1] == "DELETE a"


async def test_a_second_preemption_for_the_same_pod_waits_for_the_first() -> None:
    async with scene() as at:
        at.submit(victims("a"))
        at.submit(victims("b"))
        await at.wait()
        assert at.sent == ["PATCH a/status", "DELETE a"]

        at.submit(victims("b"))
        await at.wait()
        assert at.sent[2:] == ["PATCH b/status", "DELETE b"]


async def test_a_victim_that_stays_is_told_of_once_with_the_next_step() -> None:
    async with scene(lambda _: {"metadata": {"deletionGracePeriodSeconds": 10}}) as at:
        at.there = {"default/a"}
        at.submit(victims("a", "b"))
        await at.wait(10 + SPARE_SECONDS - 1)
        assert at.retried == []
        await at.wait(10)
        await at.wait(1000)

        assert at.retried == [PREEMPTOR]
    assert at.reasons() == [("Preempted", "a"), ("Preempted", "b"), ("PreemptionFailed", "high")]
    assert at.recorder.notes[-1] == (
        "Pod default/a was evicted from node n1 40 s ago and is still there; "
        "look at its finalizers, and whether the node's kubelet is well"
    )


async def test_an_unforeseen_fault_ends_one_preemption_only() -> None:
    async with scene() as at:
        at.displaced = [None]  # type: ignore[list-item]
        at.submit(victims("a"))
        await at.wait()
        assert at.retried == [PREEMPTOR]

        at.displaced = []
        at.submit(victims("a"))
        await at.wait()
        assert at.sent == ["PATCH a/status", "DELETE a"]
