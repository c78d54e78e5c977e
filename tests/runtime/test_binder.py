import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from builders import node, pod
from fakes import Sent, running, settle, until
from moorage.engine.messages import BindingFinished
from moorage.errors import ApiUnreachable, Conflict, ExtenderError, NotFound
from moorage.model.pods.pod import Pod
from moorage.runtime.binder import BACKLOG_PER_TASK
from moorage.runtime.latest_objects import LatestObjects
from runtime_parts import RuntimeParts, accept, bind_of
from scrape import sample


class Bench(RuntimeParts):
    """A binder with a node n1, and a pod for each name that is submitted."""

    def __init__(self, answer: Callable[[Sent], Any] = accept, *, parallelism: int = 2) -> None:
        super().__init__(answer, parallelism=parallelism)
        self.nodes["n1"] = node("n1")

    def submit(self, name: str) -> Pod:
        self.pods[f"default/{name}"] = pod(name)
        assumed = pod(name, node="n1")
        self.binder.submit(bind_of(assumed), 0.0)
        return assumed

    @property
    def errors(self) -> list[str | None]:
        return [message.error for message in self.posted if isinstance(message, BindingFinished)]


async def test_the_engine_gets_the_assumed_pod_back_after_the_binding() -> None:
    bench = Bench()
    assumed = bench.submit("p")
    async with running(bench.binder):
        await settle()
    (finished,) = bench.posted
    assert isinstance(finished, BindingFinished)
    assert finished.pod is assumed
    assert (finished.node_name, finished.error) == ("n1", None)
    assert bench.recorder.notes == ["Successfully assigned default/p to n1"]


@pytest.mark.parametrize("error", [NotFound(404, "NotFound", "gone"), ApiUnreachable("gone")])
async def test_a_failed_binding_is_reported_with_its_reason(
    error: NotFound | ApiUnreachable, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "POST":
            raise error
        return {"metadata": {}, "spec": {}}

    bench = Bench(answer)
    bench.submit("p")
    with caplog.at_level(logging.INFO):
        async with running(bench.binder):
            await settle()
    (reason,) = bench.errors
    assert reason is not None
    assert "gone" in reason
    assert bench.recorder.notes == [f"binding rejected: {reason}"]
    assert f"Pod default/p was not bound to node n1 and is tried again: {reason}" in caplog.text


async def test_a_bug_fails_one_binding_but_does_not_stop_the_task(caplog: pytest.LogCaptureFixture) -> None:
    faults = [ZeroDivisionError("oops")]

    def answer(sent: Sent) -> Any:
        if faults:
            raise faults.pop()
        return accept(sent)

    bench = Bench(answer, parallelism=1)
    async with running(bench.binder):
        bench.submit("p")
        await settle()
        bench.submit("q")
        await settle()
    assert bench.errors == ["ZeroDivisionError: oops", None]
    assert [record.levelno for record in caplog.records if record.exc_info] == [logging.ERROR]


async def test_at_most_parallelism_pods_are_bound_at_the_same_time() -> None:
    bench = Bench(parallelism=3)
    bench.api.released.clear()
    async with running(bench.binder):
        for number in range(10):
            bench.submit(f"p{number}")
        await settle()
        assert bench.sent == ["POST p0/binding", "POST p1/binding", "POST p2/binding"]
        assert len(bench.binder) == 10
        bench.api.released.set()
        await settle()
    assert bench.errors == [None] * 10
    assert len(bench.binder) == 0


async def test_a_binder_with_a_long_queue_is_full() -> None:
    bench = Bench(parallelism=1)
    for number in range(BACKLOG_PER_TASK):
        assert not bench.binder.is_full
        bench.submit(f"p{number}")
    assert bench.binder.is_full


@pytest.mark.parametrize(
    ("pods", "nodes", "reason"),
    [
        ([pod("p")], [node("n1")], ""),
        ([], [node("n1")], "pod default/p was deleted"),
        ([pod("p", metadata={"uid": "another"})], [node("n1")], "pod default/p was deleted"),
        ([pod("p", terminating=True)], [node("n1")], "pod default/p is being deleted"),
        ([pod("p", node="n9")], [node("n1")], "pod default/p is already assigned to node n9"),
        ([pod("p")], [], "node n1 was deleted"),
        ([pod("p")], [node("n1", unschedulable=True)], "node n1 was cordoned"),
    ],
)
async def test_a_change_after_the_decision_stops_the_binding(pods: Any, nodes: Any, reason: str) -> None:
    parts = RuntimeParts()
    parts.pods.update({each.key: each for each in pods})
    parts.nodes.update({each.name: each for each in nodes})
    assumed = pod("p", node="n1")
    parts.binder.submit(bind_of(assumed), 0.0)
    async with running(parts.binder):
        await settle()
    assert parts.posted == [BindingFinished(assumed, "n1", reason or None)]
    assert bool(parts.sent) is not bool(reason)


def test_a_pod_that_tolerates_the_taint_may_be_bound_to_a_cordoned_node() -> None:
    tolerant = pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    latest = LatestObjects({tolerant.key: tolerant}, {"n1": node("n1", unschedulable=True)})
    latest.check_bind(tolerant, "n1")  # raises an error if the pod may not use the node


async def test_a_stop_drops_queued_decisions_and_finishes_started_bindings() -> None:
    bench = Bench(parallelism=2)
    bench.api.released.clear()
    for name in ("a", "b", "c", "d"):
        bench.submit(name)
    async with running(bench.binder):
        await settle()
        bench.binder.drop_queued()
        assert len(bench.binder) == 2
        bench.api.released.set()
        await settle()
        bench.submit("e")
        await settle()
    assert bench.sent == ["POST a/binding", "POST b/binding", "POST e/binding"]
    assert len(bench.binder) == 0


Result = bool | ExtenderError
"""The result of the dispatcher's `bind` for a profile with an extender that binds: a return value or an error."""

BOUND = {"metadata": {"uid": "default/p"}, "spec": {"nodeName": "n1"}}
UNBOUND = {"metadata": {"uid": "default/p"}, "spec": {}}
ELSEWHERE = {"metadata": {"uid": "default/p"}, "spec": {"nodeName": "n2"}}


def bound_by(bench: Bench, result: Result) -> None:
    async def bind(_: Pod) -> bool:
        if isinstance(result, ExtenderError):
            raise result
        return result

    bench.extenders.binder = bind


@pytest.mark.parametrize("result", [True, ExtenderError("http://e/bind", "closed the connection without an answer")])
async def test_a_pod_that_an_extender_bound_is_reported_as_bound_even_if_the_call_failed(result: Result) -> None:
    bench = Bench(lambda _: BOUND)
    bound_by(bench, result)
    bench.submit("p")
    async with running(bench.binder):
        await settle()
    assert bench.sent == ["GET p"]
    assert bench.errors == [None]
    assert bench.recorder.notes == ["Successfully assigned default/p to n1"]


async def test_a_pod_that_an_extender_failed_to_bind_is_tried_again() -> None:
    bench = Bench(lambda _: UNBOUND)
    bound_by(bench, ExtenderError("http://e/bind", "closed the connection without an answer"))
    bench.submit("p")
    async with running(bench.binder):
        await settle()
    message = "extender http://e/bind: closed the connection without an answer"
    assert bench.errors == [message]
    assert bench.recorder.notes == [f"binding rejected: {message}"]


async def test_a_binding_fails_if_the_extender_says_that_it_bound_a_pod_that_has_no_node() -> None:
    bench = Bench(lambda _: UNBOUND)
    bound_by(bench, True)
    bench.submit("p")
    async with running(bench.binder):
        await until(lambda: bool(bench.posted))
    assert bench.errors == ["the extender says that it has bound pod default/p, but the pod has no node"]


@pytest.mark.parametrize("result", [True, False, ExtenderError("http://e/bind", "hung up")])
async def test_a_pod_that_is_on_another_node_gets_no_event_about_failed_scheduling(result: Result) -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "POST":
            raise Conflict(409, "Conflict", "pod p is already assigned to node n2")
        return ELSEWHERE

    bench = Bench(answer)
    bound_by(bench, result)
    bench.submit("p")
    async with running(bench.binder):
        await settle()
    assert bench.errors == ["pod default/p is already assigned to node n2"]
    assert bench.recorder.notes == []
    assert bench.statuses.submitted == []
    assert sample(bench.metrics, "moorage_binding_conflicts_total", conflict="bound") == 1


async def test_a_pod_is_not_bound_if_its_resources_are_taken_and_the_conflict_is_reported() -> None:
    bench = Bench()
    bench.lost_room["default/p"] = "Insufficient cpu"
    bench.submit("p")
    async with running(bench.binder):
        await settle()
    reason = "node n1 has no room for the pod any more: Insufficient cpu"
    assert bench.sent == []
    assert bench.errors == [reason]
    assert bench.recorder.notes == [f"binding rejected: {reason}"]
    assert sample(bench.metrics, "moorage_binding_conflicts_total", conflict="room") == 1


async def test_a_bind_call_that_hangs_does_not_delay_the_pods_of_other_profiles() -> None:
    bench = Bench(parallelism=1)
    released = asyncio.Event()

    async def bind(pod: Pod) -> bool:
        if pod.name.startswith("slow"):
            await released.wait()
        return False

    bench.extenders.binder = bind
    bench.submit("slow")
    async with running(bench.binder):
        await settle()
        bench.submit("p")
        await settle()
        assert bench.sent == ["POST p/binding"]
        assert len(bench.binder) == 1
        released.set()
        await settle()
    assert bench.sent == ["POST p/binding", "POST slow/binding"]
    assert len(bench.binder) == 0


async def test_a_stop_drops_decisions_that_wait_for_an_extender() -> None:
    bench = Bench()
    released = asyncio.Event()

    async def bind(_: Pod) -> bool:
        await released.wait()
        return False

    bench.extenders.binder = bind
    for name in "abcd":
        bench.submit(name)
    async with running(bench.binder):
        await settle()
        assert len(bench.binder) == 4
        bench.binder.drop_queued()
        await settle()
        assert len(bench.binder) == 2
        released.set()
        await settle()
    assert bench.sent == ["POST a/binding", "POST b/binding"]
    assert len(bench.binder) == 0
