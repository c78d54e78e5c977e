"""Informers with the embedded API server. After each kind of connection failure, their store is correct again."""

import json
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from prometheus_client import CollectorRegistry

from builders import pod_object
from fakes import Cluster, FakeApi, FakeClock, Sent, fixed_random, informer_metrics, running, settle, until
from moorage.engine.messages import KindReadable, KindUnreadable, Message
from moorage.errors import AnswerTooLong, ApiError, Forbidden, Gone, NotFound, TooManyRequests
from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.model.decode import Decoder
from moorage.runtime.api_resources import CSI_NODE, NAMESPACE, POD, POD_DISRUPTION_BUDGET, SERVICE, Resource
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.informers.list_watch import PAGE_SIZE, ListWatch
from moorage.sandbox.injected_faults import End, Expire, Fail, Garbage, Stall

WATCH = "/pods.*watch=true"


@dataclass
class Watching:
    """A running informer, its posted events and its metrics."""

    informer: Informer
    registry: CollectorRegistry
    events: list[ClusterEvent] = field(default_factory=list)
    readability: list[Message] = field(default_factory=list)
    """The posted messages that are not events."""

    @property
    def lists(self) -> float | None:
        return self.registry.get_sample_value("moorage_informer_lists_total", {"kind": self.informer.kind})

    def ended_watches(self, reason: str) -> float | None:
        labels = {"kind": "Pod", "reason": reason}
        return self.registry.get_sample_value("moorage_informer_watch_ends_total", labels)

    def knows(self, name: str) -> bool:
        return name in self.names

    @property
    def posted(self) -> list[tuple[str, str]]:
        return [(event.action.value, (event.new or event.old).name) for event in self.events]

    @property
    def names(self) -> set[str]:
        """The names of the objects that exist according to the events."""
        known: dict[str, Any] = {}
        for event in self.events:
            name = (event.new or event.old).name
            if event.action is Action.DELETE:
                del known[name]
            else:
                assert (name in known) is (event.action is Action.UPDATE)
                known[name] = event.new
        return set(known)


def informer_of(
    client: KubeClient, resource: Resource, clock: Clock, inactivity_seconds: float = 60, page_size: int = PAGE_SIZE
) -> Watching:
    decoder, registry = Decoder(), CollectorRegistry()

    def decode(raw: bytes) -> Any:
        return decoder.decode(resource.kind, raw)

    def post(messages: Iterable[Message]) -> None:
        for message in messages:
            if isinstance(message, ClusterEvent):
                watching.events.append(message)
            else:
                watching.readability.append(message)

    source = ListWatch(client, resource, fixed_random(), inactivity_seconds, page_size)
    watching = Watching(Informer(source, decode, post, informer_metrics(registry), clock), registry)
    return watching


@asynccontextmanager
async def watching_pods(
    cluster: Cluster, inactivity_seconds: float = 60, page_size: int = PAGE_SIZE
) -> AsyncIterator[Watching]:
    watching = informer_of(cluster.client, POD, Clock(), inactivity_seconds, page_size)
    async with running(watching.informer):
        await until(lambda: watching.informer.has_synced)
        yield watching


async def test_additions_updates_and_deletions_are_posted_in_order() -> None:
    async with Cluster() as cluster:
        await cluster.create(POD, pod_object("early"))
        async with watching_pods(cluster) as watching:
            await cluster.create(POD, pod_object("late"))
            await cluster.merge(POD.path("late", "default"), {"metadata": {"labels": {"a": "b"}}})
            await cluster.client.delete(POD.path("early", "default"), b'{"gracePeriodSeconds": 0}')
            await until(lambda: ("Delete", "early") in watching.posted)
    assert watching.posted[:3] == [("Add", "early"), ("Add", "late"), ("Update", "late")]
    assert watching.names == {"late"}
    update = watching.events[2]
    assert (dict(update.old.labels), dict(update.new.labels)) == ({}, {"a": "b"})


async def test_a_finished_pod_is_posted_as_deleted() -> None:
    async with Cluster() as cluster, watching_pods(cluster) as watching:
        await cluster.create(POD, pod_object("job"))
        await cluster.merge(f"{POD.path('job', 'default')}/status", {"status": {"phase": "Succeeded"}})
        await until(lambda: watching.posted == [("Add", "job"), ("Delete", "job")])


async def test_a_list_of_many_pages_is_posted_completely() -> None:
    async with Cluster() as cluster:
        for number in range(8):
            await cluster.create(POD, pod_object(f"p{number}"))
        async with watching_pods(cluster, page_size=3) as watching:
            assert watching.names == {f"p{number}" for number in range(8)}
            assert watching.lists == 1


async def test_a_list_uses_smaller_pages_after_a_page_that_is_too_long() -> None:
    limits = []

    def answer(sent: Sent) -> Any:
        query = parse_qs(urlsplit(sent.path).query)
        if "watch" in query:
            raise Gone(410, "Expired", "list again")
        limit = int(query["limit"][0])
        limits.append(limit)
        if limit > 7:
            raise AnswerTooLong("the answer is longer than 32 MiB")
        start = int(query.get("continue", ["0"])[0])
        metadata = {"resourceVersion": "1", "continue": str(start + limit) if start + limit < 20 else ""}
        return {
            "metadata": metadata,
            "items": [pod_object(f"p{each}") for each in range(start, min(start + limit, 20))],
        }

    api = FakeApi(answer)
    watching = informer_of(api.client(), POD, api.clock)
    async with running(watching.informer):
        await until(lambda: len(limits) >= 8)
    assert limits[:8] == [500, 62, 7, 7, 7, 7, 7, 7]
    assert watching.names == {f"p{number}" for number in range(20)}


async def test_an_event_that_is_too_long_causes_new_lists_after_growing_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(sent: Sent) -> Any:
        if "watch=true" in sent.path:
            raise AnswerTooLong("an event is longer than 32 MiB")
        return {"metadata": {"resourceVersion": "1"}, "items": []}

    api = FakeApi(answer)
    watching = informer_of(api.client(), POD, api.clock)
    async with running(watching.informer):
        await until(lambda: (watching.lists or 0) >= 3)
    assert sorted(api.clock.slept[:3]) == api.clock.slept[:3]
    assert 0.2 < api.clock.slept[0] < 0.6 < api.clock.slept[2]
    assert [record.levelname for record in caplog.records if "pods cannot be read" in record.message] == ["WARNING"]


def nested(name: str) -> bytes:
    """Return a pod with managedFields that the API server accepts, but that are too deep for decoders."""
    fields = b'{"f:a":' * 5_000 + b"{}" + b"}" * 5_000
    start = b'"metadata": {'
    return json.dumps(pod_object(name)).encode().replace(start, start + b'"managedFields": [' + fields + b"], ", 1)


async def test_a_pod_that_is_nested_too_deeply_for_the_decoder_does_not_affect_other_pods() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "WATCH":
            return [b'{"type": "ADDED", "object": ' + nested("late") + b"}\n"]
        return b'{"metadata": {"resourceVersion": "1"}, "items": [' + nested("early") + b"]}"

    api = FakeApi(answer)
    watching = informer_of(api.client(), POD, api.clock)
    async with running(watching.informer):
        await until(lambda: watching.names >= {"early", "late"})


async def test_a_watch_that_ends_is_continued_without_another_list() -> None:
    async with Cluster() as cluster:
        cluster.server.faults.add(End(after_seconds=0.01), verb="watch", path=WATCH, times=3)
        async with watching_pods(cluster) as watching:
            for number in range(4):
                await cluster.create(POD, pod_object(f"p{number}"))
                await until(partial(watching.knows, f"p{number}"))
            await until(lambda: watching.ended_watches("ended") == 3)
    assert watching.lists == 1


async def test_changes_during_an_expired_resource_version_are_found_in_the_next_list() -> None:
    async with Cluster() as cluster:
        for name in ("stays", "changes", "goes", "reborn"):
            await cluster.create(POD, pod_object(name))
        async with watching_pods(cluster) as watching:
            await cluster.server.pause()
            cluster.server.faults.add(Expire(), verb="watch", path=WATCH)
            await cluster.server.resume()
            await cluster.merge(POD.path("changes", "default"), {"metadata": {"labels": {"a": "b"}}})
            for name in ("goes", "reborn"):
                await cluster.client.delete(POD.path(name, "default"), b'{"gracePeriodSeconds": 0}')
            await cluster.create(POD, pod_object("reborn", metadata={"uid": None}))
            await cluster.create(POD, pod_object("new"))
            await until(lambda: watching.names == {"stays", "changes", "reborn", "new"})
            await until(lambda: ("Update", "changes") in watching.posted)
    assert watching.posted.count(("Add", "stays")) == 1
    assert watching.lists == 2


async def test_a_silent_watch_is_replaced() -> None:
    async with Cluster() as cluster, watching_pods(cluster, inactivity_seconds=0.3) as watching:
        stall = cluster.server.faults.add(Stall(), verb="watch", path="/pods")
        await cluster.create(POD, pod_object("unseen"))
        await until(lambda: watching.ended_watches("failed"))
        cluster.server.faults.remove(stall)
        await until(lambda: watching.names == {"unseen"})
    assert watching.lists == 1


@pytest.mark.parametrize("fault", [Fail(500), Fail(429, retry_after_seconds=0), Garbage()])
async def test_a_failed_request_is_repeated_until_the_api_server_answers(fault: Any) -> None:
    async with Cluster() as cluster:
        await cluster.create(POD, pod_object("p"))
        cluster.server.faults.add(fault, verb="list", path="/pods", times=1)
        cluster.server.faults.add(fault, verb="watch", path="/pods", times=1)
        async with watching_pods(cluster) as watching:
            await cluster.create(POD, pod_object("q"))
            await until(lambda: watching.names == {"p", "q"})


async def test_an_unreadable_object_is_logged_by_name_and_the_others_are_posted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock(auto=True)
    good, bad = pod_object("good"), pod_object("bad", spec={"priority": "very"})

    def answer(sent: Sent) -> Any:
        if sent.method == "WATCH":
            return []
        return {"metadata": {"resourceVersion": "5"}, "items": [bad, good]}

    api = FakeApi(answer, clock)
    watching = informer_of(api.client(), POD, clock)
    async with running(watching.informer):
        await settle()
    assert watching.names == {"good"}
    assert watching.registry.get_sample_value("moorage_unreadable_objects_total", {"kind": "Pod"}) == 1
    assert "Pod default/bad cannot be read" in caplog.text


def forbidden(sent: Sent) -> Any:
    if "/pods" in sent.path or "/services" in sent.path or "/poddisruptionbudgets" in sent.path:
        raise Forbidden(403, "Forbidden", "it is forbidden")
    return {"resources": [{"name": "pods"}, {"name": "services"}, {"name": "poddisruptionbudgets"}]}


async def test_a_forbidden_kind_is_read_as_soon_as_it_is_allowed() -> None:
    allowed = False

    def answer(sent: Sent) -> Any:
        if not allowed:
            return forbidden(sent)
        return [] if sent.method == "WATCH" else {"metadata": {"resourceVersion": "5"}, "items": []}

    clock = FakeClock()
    watching = informer_of(FakeApi(answer, clock).client(), POD_DISRUPTION_BUDGET, clock)
    async with running(watching.informer):
        await clock.advance(3)
        assert "may not list poddisruptionbudgets" in watching.informer.readability.fault()
        allowed = True
        await clock.advance(4)
        assert watching.informer.readability.fault() == ""
    unreadable, readable = watching.readability
    assert isinstance(unreadable, KindUnreadable)
    assert unreadable.is_refused
    assert "grant list and watch on policy/poddisruptionbudgets" in unreadable.error
    assert readable == KindReadable("PodDisruptionBudget")


async def test_a_forbidden_kind_that_affects_only_scores_delays_scheduling_for_some_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    watching = informer_of(FakeApi(forbidden, clock).client(), SERVICE, clock)
    async with running(watching.informer):
        await clock.advance(14)
        assert not watching.informer.has_synced
        await clock.advance(50)
        assert watching.informer.has_synced
        assert "services" in watching.informer.readability.fault()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "grant list and watch on services" in warnings[0]
    assert max(clock.slept) <= 30


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), NotFound(404, "NotFound", "no")])
@pytest.mark.parametrize("discovery", [{"resources": [{"name": "nodes"}]}, NotFound(404, "NotFound", "no")])
async def test_a_kind_that_discovery_does_not_name_is_absent_at_once(error: Exception, discovery: Any) -> None:
    def answer(sent: Sent) -> Any:
        if "/csinodes" in sent.path:
            raise error
        if isinstance(discovery, Exception):
            raise discovery
        return discovery

    clock = FakeClock()
    watching = informer_of(FakeApi(answer, clock).client(), CSI_NODE, clock)
    async with running(watching.informer):
        await clock.advance(600)
    assert (watching.informer.has_synced, watching.informer.readability.fault()) == (True, "")
    assert watching.readability == []
    assert len(clock.slept) <= 11


async def test_a_kind_is_not_absent_while_discovery_fails() -> None:
    def answer(sent: Sent) -> Any:
        if "/poddisruptionbudgets" in sent.path:
            raise NotFound(404, "NotFound", "the API server starts")
        raise ApiError(503, "ServiceUnavailable", "the API server starts")

    clock = FakeClock()
    watching = informer_of(FakeApi(answer, clock).client(), POD_DISRUPTION_BUDGET, clock)
    async with running(watching.informer):
        await clock.advance(60)
    assert watching.informer.readability.fault()
    assert isinstance(watching.readability[0], KindUnreadable)


async def test_a_watch_that_always_ends_with_an_error_is_replaced_by_a_list() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "WATCH":
            raise ApiError(500, "InternalError", "too large resource version")
        return {"metadata": {"resourceVersion": "5"}, "items": []}

    clock = FakeClock()
    api = FakeApi(answer, clock)
    watching = informer_of(api.client(), POD, clock)
    async with running(watching.informer):
        await clock.advance(60)
    assert watching.lists is not None
    assert 1 < watching.lists < 10


async def test_an_informer_that_is_refused_after_its_sync_lists_again() -> None:
    """When an API server restarts, its authorizer refuses everything until it has read the roles."""
    async with Cluster() as cluster:
        watching = informer_of(cluster.client, POD_DISRUPTION_BUDGET, Clock())
        async with running(watching.informer):
            await until(lambda: watching.informer.has_synced)
            await cluster.server.pause()
            cluster.server.faults.add(Fail(403), path="/poddisruptionbudgets", times=2)
            await cluster.server.resume()
            await until(
                lambda: (
                    bool(watching.readability) and watching.readability[-1] == KindReadable(POD_DISRUPTION_BUDGET.kind)
                )
            )
    assert watching.lists == 3  # the first list, a refused list, and the last list
    assert isinstance(watching.readability[0], KindUnreadable)


async def test_a_forbidden_required_kind_is_not_synced() -> None:
    def answer(_: Sent) -> Any:
        raise Forbidden(403, "Forbidden", "pods is forbidden")

    clock = FakeClock()
    watching = informer_of(FakeApi(answer, clock).client(), POD, clock)
    async with running(watching.informer):
        await clock.advance(60)
    assert not watching.informer.has_synced


async def test_a_throttled_list_is_repeated_with_backoff() -> None:
    def answer(_: Sent) -> Any:
        raise TooManyRequests("TooManyRequests", "storage is (re)initializing", None)

    clock = FakeClock()
    api = FakeApi(answer, clock)
    watching = informer_of(api.client(), NAMESPACE, clock)
    async with running(watching.informer):
        await clock.advance(300)
    assert max(clock.slept) <= 30
    assert 8 < len(api.sent) < 40


async def test_an_expired_version_causes_a_list_at_once_and_repeated_expiries_cause_pauses() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "WATCH":
            return [b'{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n']
        return {"metadata": {"resourceVersion": "5"}, "items": []}

    clock = FakeClock()
    api = FakeApi(answer, clock)
    async with running(informer_of(api.client(), POD, clock).informer):
        await clock.advance(60)
    assert clock.slept[0] == 0
    assert len([sent for sent in api.sent if sent.method == "GET"]) < 20


async def test_an_informer_pauses_after_watches_that_end_at_once() -> None:
    def answer(sent: Sent) -> Any:
        return [] if sent.method == "WATCH" else {"metadata": {"resourceVersion": "5"}, "items": None}

    clock = FakeClock()
    api = FakeApi(answer, clock)
    async with running(informer_of(api.client(), POD, clock).informer):
        await clock.advance(60)
    assert len(api.sent) < 20
