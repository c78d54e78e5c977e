import asyncio
import logging
from typing import Any

import pytest

from builders import node, pod
from fakes import running, settle
from moorage.engine.cycle.decision import Decision
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind
from moorage.errors import ApiUnreachable, NotFound
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.runtime.binder import BACKLOG_PER_TASK, Binder
from moorage.runtime.latest_objects import LatestObjects

PROFILE: Profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="gold"))


def bind_of(name: str, node_name: str = "n1") -> Bind:
    return Bind(
        pod=pod(name, node=node_name),
        node_name=node_name,
        profile=PROFILE,
        intents=(),
        decision=Decision(node_name, 1, 1, 1),
        attempts=1,
        first_attempt_at=0.0,
    )


class FakeWriter:
    """Binds when it is let."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.started: list[str] = []

    async def bind(self, pod: Pod, node_name: str) -> None:
        del node_name
        self.started.append(pod.name)
        await self.may_go.wait()
        if self.error:
            raise self.error


class FakeReporter:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def bound(self, bind: Bind, started_at: float) -> None:
        del started_at
        self.told.append((bind.pod.name, "bound"))

    def bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        del started_at
        self.told.append((bind.pod.name, message))


class NoObjections:
    def objection(self, pod: Pod, node_name: str) -> str:
        del pod, node_name
        return ""


class Bench:
    def __init__(self, writer: FakeWriter, last_look: Any = None, parallelism: int = 2) -> None:
        self.reporter = FakeReporter()
        self.posted: list[BindingFinished] = []
        self.binder = Binder(writer, last_look or NoObjections(), self.reporter, self.posted.append, parallelism)


async def test_the_engine_is_told_of_every_bind_with_the_very_pod_it_assumed() -> None:
    bench = Bench(FakeWriter())
    bind = bind_of("p")
    bench.binder.submit(bind, 0.0)
    async with running(bench.binder):
        await settle()
    (finished,) = bench.posted
    assert finished.pod is bind.pod
    assert (finished.node_name, finished.error) == ("n1", None)
    assert bench.reporter.told == [("p", "bound")]


@pytest.mark.parametrize("error", [NotFound(404, "NotFound", "gone"), ApiUnreachable("gone")])
async def test_a_failed_bind_is_told_with_its_reason(error: Exception) -> None:
    bench = Bench(FakeWriter(error))
    bench.binder.submit(bind_of("p"), 0.0)
    async with running(bench.binder):
        await settle()
    assert bench.posted[0].error is not None
    assert "gone" in bench.posted[0].error
    assert bench.reporter.told == [("p", bench.posted[0].error)]


async def test_an_unforeseen_fault_costs_one_bind_and_not_the_task(caplog: pytest.LogCaptureFixture) -> None:
    writer = FakeWriter(ZeroDivisionError("oops"))
    bench = Bench(writer, parallelism=1)
    async with running(bench.binder):
        bench.binder.submit(bind_of("p"), 0.0)
        await settle()
        writer.error = None
        bench.binder.submit(bind_of("q"), 0.0)
        await settle()
    assert [finished.error for finished in bench.posted] == ["ZeroDivisionError: oops", None]
    assert [record.levelno for record in caplog.records if record.exc_info] == [logging.ERROR]


async def test_no_more_binds_at_once_than_the_parallelism() -> None:
    writer = FakeWriter()
    writer.may_go.clear()
    bench = Bench(writer, parallelism=3)
    async with running(bench.binder):
        for number in range(10):
            bench.binder.submit(bind_of(f"p{number}"), 0.0)
        await settle()
        assert writer.started == ["p0", "p1", "p2"]
        assert len(bench.binder) == 10
        writer.may_go.set()
        await settle()
    assert len(bench.posted) == 10
    assert len(bench.binder) == 0


async def test_a_long_backlog_asks_for_no_more_decisions() -> None:
    bench = Bench(FakeWriter(), parallelism=1)
    for number in range(BACKLOG_PER_TASK):
        assert not bench.binder.is_full
        bench.binder.submit(bind_of(f"p{number}"), 0.0)
    assert bench.binder.is_full


@pytest.mark.parametrize(
    ("pods", "nodes", "objection"),
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
async def test_the_last_look_sees_what_has_changed_since_the_decision(pods: Any, nodes: Any, objection: str) -> None:
    look = LatestObjects({each.key: each for each in pods}, {each.name: each for each in nodes})
    writer = FakeWriter()
    bench = Bench(writer, look)
    bench.binder.submit(bind_of("p"), 0.0)
    async with running(bench.binder):
        await settle()
    assert bench.posted[0].error == (objection or None)
    assert bool(writer.started) is not bool(objection)


def test_a_pod_that_tolerates_cordoned_nodes_is_bound_to_one() -> None:
    tolerant = pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    look = LatestObjects({tolerant.key: tolerant}, {"n1": node("n1", unschedulable=True)})
    assert look.objection(tolerant, "n1") == ""


async def test_at_a_stop_what_is_queued_is_dropped_and_what_is_being_bound_is_finished() -> None:
    writer = FakeWriter()
    writer.may_go.clear()
    bench = Bench(writer, parallelism=2)
    for name in ("a", "b", "c", "d"):
        bench.binder.submit(bind_of(name), 0.0)
    async with running(bench.binder):
        await settle()
        bench.binder.drop_queued()
        assert len(bench.binder) == 2
        writer.may_go.set()
        await settle()
        bench.binder.submit(bind_of("e"), 0.0)
        await settle()
    assert writer.started == ["a", "b", "e"]
    assert len(bench.binder) == 0
