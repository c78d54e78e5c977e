"""PolicyController turns lists and watch events into messages for the engine, Kubernetes events and log lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import snapshot_of
from fakes import FakeApi, FakeClock, FakeRecorder, settle
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.node_facts import NodeFacts
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_announcer import PolicyAnnouncer
from moorage.controller.policy_controller import PAUSE_SHARE, PolicyController
from moorage.controller.policy_profiles import build_profile
from moorage.controller.policy_warnings import PolicyWarnings
from moorage.controller.status_reporter import StatusReporter
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.engine.messages import Message, ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.errors import ApiError, ApiUnreachable, MoorageError, NotFound
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry

RESYNC_SECONDS = 60.0


def policy(name: str, generation: int = 1, **spec: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "generation": generation,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata, "spec": spec}


class Listing:
    """A controller, and the API server's answer when it lists policies: the policies or an error."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.posted: list[Message] = []
        self.recorder = FakeRecorder()
        self.answer: list[dict[str, Any]] | MoorageError = []
        self.lists = 0
        self.first_listed = 0
        self.build_seconds = 0.0
        """The time that compiling a policy takes, on the clock."""
        self.registry = Registry.discover()
        store = PolicyStore(self.build)
        self.is_scheduling = True
        announcer = PolicyAnnouncer(self.recorder.record, lambda: self.is_scheduling)
        self.api = FakeApi(lambda _: {}, self.clock)
        self.statuses = PolicyStatusWriter(self.api.client(), self.clock)
        warnings = PolicyWarnings((), NodeFacts(snapshot_of()), lambda: True)
        self.reporter = StatusReporter(store, self.statuses, warnings, self.clock)
        self.controller = PolicyController(store, self.posted.append, announcer, self.reporter, self.clock)

    def build(self, policy: SchedulingPolicy) -> Profile:
        self.clock.now += self.build_seconds
        return build_profile(self.registry, ProfileSettings(), policy)

    async def receive(self, type_: str, manifest: dict[str, Any]) -> None:
        """Let the controller receive an event, and wait until it is processed."""
        self.controller.receive(type_, manifest)
        await settle()

    async def read(self) -> list[dict[str, Any]]:
        self.lists += 1
        if isinstance(self.answer, MoorageError):
            raise self.answer
        return self.answer

    def count(self) -> None:
        self.first_listed += 1

    def take_posted(self) -> list[tuple[str, str]]:
        """Return the messages that the engine got since the last call."""
        taken = [
            ("changed", message.profile.name) if isinstance(message, ProfileChanged) else ("removed", name_of(message))
            for message in self.posted
        ]
        self.posted.clear()
        return taken


def name_of(message: Message) -> str:
    assert isinstance(message, ProfileRemoved)
    return message.scheduler_name


@asynccontextmanager
async def listing(answer: list[dict[str, Any]] | MoorageError) -> AsyncIterator[Listing]:
    made = Listing()
    made.answer = answer
    task = asyncio.create_task(made.controller.run(made.read, made.clock.sleep, made.count, RESYNC_SECONDS))
    try:
        await made.clock.advance(0)
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_scheduling_waits_for_the_first_list() -> None:
    async with listing(ApiUnreachable("down")) as made:
        await made.clock.advance(2.5)
        assert (made.lists, made.first_listed, made.controller.has_synced) == (3, 0, False)
        made.answer = [policy("gold")]
        await made.clock.advance(1)
        assert (made.first_listed, made.controller.has_synced) == (1, True)
        assert made.take_posted() == [("changed", "gold")]


async def test_other_tasks_run_between_the_policies_of_the_first_list_without_pauses() -> None:
    made, turns = Listing(), 0
    made.build_seconds = 0.01
    made.answer = [policy(f"p{number}") for number in range(20)]
    running = asyncio.create_task(made.controller.run(made.read, made.clock.sleep, made.count, RESYNC_SECONDS))
    while not made.controller.has_synced:
        await asyncio.sleep(0)
        turns += 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert turns >= 20
    assert len(made.take_posted()) == 20
    assert set(made.clock.slept) <= {0, RESYNC_SECONDS}


async def test_without_the_crd_scheduling_starts_and_the_list_is_retried() -> None:
    async with listing(NotFound(404, "NotFound", "no such resource")) as made:
        assert (made.first_listed, made.controller.has_synced) == (0, True)
        made.answer = [policy("gold")]
        await made.clock.advance(1)
        assert made.first_listed == 1
        assert made.take_posted() == [("changed", "gold")]


async def test_policies_stay_live_if_the_crd_is_missing_briefly_and_end_if_it_stays_missing() -> None:
    async with listing([policy("gold")]) as made:
        made.take_posted()
        made.answer = NotFound(404, "NotFound", "no such resource")
        await made.clock.advance(RESYNC_SECONDS + 55)
        assert made.take_posted() == []
        await made.clock.advance(10)
        assert made.take_posted() == [("removed", "gold")]


async def test_the_next_list_finds_a_deletion_that_the_watch_missed() -> None:
    async with listing([policy("gold"), policy("silver")]) as made:
        made.take_posted()
        made.answer = [policy("silver")]
        await made.clock.advance(RESYNC_SECONDS - 1)
        assert made.take_posted() == []
        await made.clock.advance(1)
        assert made.take_posted() == [("removed", "gold")]


async def test_a_failed_list_is_retried_after_a_second() -> None:
    async with listing([policy("gold")]) as made:
        made.take_posted()
        made.answer = ApiError(500, "InternalError", "oops")
        await made.clock.advance(RESYNC_SECONDS)
        made.answer = []
        await made.clock.advance(1)
        assert made.take_posted() == [("removed", "gold")]
        assert made.first_listed == 1


@pytest.mark.parametrize(
    ("error", "warnings"),
    [
        (NotFound(404, "NotFound", "no such resource"), 1),
        (ApiError(500, "InternalError", "oops"), 1),
        (ApiUnreachable("logged by Reachability"), 0),
    ],
)
async def test_consecutive_failures_are_logged_once(
    error: MoorageError, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with listing(error) as made:
        await made.clock.advance(5)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == warnings


async def test_a_failure_of_another_kind_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    async with listing(ApiUnreachable("logged by Reachability")) as made:
        await made.clock.advance(5)
        made.answer = NotFound(404, "NotFound", "no such resource")
        await made.clock.advance(5)
    assert caplog.messages == ["The CRD of SchedulingPolicy is not installed; run `moorage crd | kubectl apply -f -`"]


async def test_the_log_says_when_the_crd_is_installed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with listing(NotFound(404, "NotFound", "no such resource")) as made:
        made.answer = []
        await made.clock.advance(1)
    assert caplog.messages[1:] == ["The CRD of SchedulingPolicy is installed; policies are read from now on"]


async def test_an_event_older_than_the_list_changes_nothing() -> None:
    async with listing([policy("gold", 2, preset="BinPack")]) as made:
        made.take_posted()
        await made.receive("MODIFIED", policy("gold", 1))
        assert made.take_posted() == []
        await made.receive("DELETED", policy("gold", 2))
        assert made.take_posted() == [("removed", "gold")]


async def test_the_engine_gets_the_refusal_of_a_policy_without_a_good_generation() -> None:
    async with listing([policy("gold", weights={"NodeResourceFit": 1})]) as made:
        (message,) = made.posted
        assert isinstance(message, ProfileRefused)
        assert message.scheduler_name == "gold"
        assert message.message.startswith(
            "SchedulingPolicy gold is refused: spec.weights.NodeResourceFit: there is no plugin"
        )


async def test_a_policy_gets_one_event_for_each_result() -> None:
    async with listing([policy("gold")]) as made:
        await made.receive("MODIFIED", policy("gold", 2, weights={"NodeResourceFit": 1}))
        await made.receive("MODIFIED", policy("gold", 2, weights={"NodeResourceFit": 1}))
        assert [event.reason for event in made.recorder.events] == ["Programmed", "UnknownPlugin"]


async def test_the_event_of_a_paused_policy_does_not_say_that_pods_are_scheduled() -> None:
    async with listing([policy("gold", paused=True)]) as made:
        (event,) = made.recorder.events
        assert (event.reason, event.warning) == ("Paused", False)
        assert event.note == "Pods with schedulerName gold wait: spec.paused is true"


async def test_a_standby_logs_policies_as_accepted_and_not_as_live(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with listing([]) as made:
        made.is_scheduling = False
        await made.receive("ADDED", policy("gold"))
    assert caplog.messages == [
        "SchedulingPolicy gold is accepted, and is live when this replica schedules: generation 1, schedulerName gold"
    ]


async def test_the_log_says_which_policies_are_live_refused_and_deleted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with listing([policy("gold", schedulerName="shiny"), policy("idle", paused=True)]) as made:
        await made.receive("MODIFIED", policy("gold", 2, schedulerName="shiny", weights={"NodeResourceFit": 1}))
        await made.receive("MODIFIED", policy("gold", 2, schedulerName="shiny", weights={"NodeResourceFit": 1}))
        await made.receive("DELETED", policy("gold", 2))
    assert caplog.messages == [
        "SchedulingPolicy gold is live: generation 1, schedulerName shiny",
        "SchedulingPolicy idle is paused: generation 1, schedulerName idle",
        (
            "SchedulingPolicy gold is refused, its last accepted generation stays live: generation 2, "
            "schedulerName shiny: UnknownPlugin: spec.weights.NodeResourceFit: there is no plugin "
            "'NodeResourceFit'; did you mean NodeResourcesFit?"
        ),
        "SchedulingPolicy gold is deleted",
    ]


async def test_a_pause_follows_each_policy_that_takes_long_to_compile() -> None:
    async with listing([]) as made:
        made.build_seconds = 0.06
        for number in range(3):
            await made.receive("ADDED", policy(f"p{number}"))
        assert made.take_posted() == [("changed", "p0")]
        await made.clock.advance(1)
        assert made.take_posted() == [("changed", "p1"), ("changed", "p2")]
        assert made.clock.slept[-3:] == pytest.approx([PAUSE_SHARE * 0.06] * 3)


async def test_a_pause_follows_many_policies_that_compile_fast() -> None:
    async with listing([]) as made:
        made.build_seconds = 0.001
        for number in range(20):
            made.controller.receive("ADDED", policy(f"p{number}"))
        await settle()
        assert 0 < len(made.take_posted()) < 20
        await made.clock.advance(1)
        assert made.take_posted()[-1] == ("changed", "p19")


async def test_only_the_newest_waiting_event_of_a_policy_is_processed() -> None:
    async with listing([]) as made:
        made.controller.receive("ADDED", policy("gold"))
        made.controller.receive("MODIFIED", policy("gold", 2, paused=True))
        made.controller.receive("ADDED", policy("brief"))
        made.controller.receive("DELETED", policy("brief"))
        await settle()
        (message,) = made.posted
        assert isinstance(message, ProfileChanged)
        assert message.profile.settings.paused


async def test_an_event_that_arrives_during_a_list_is_processed_after_the_list() -> None:
    async with listing([]) as made:
        answered = asyncio.Event()

        async def slow() -> list[dict[str, Any]]:
            await answered.wait()
            return []

        made.read = slow  # type: ignore[method-assign]
        relisting = asyncio.create_task(made.controller.run(made.read, made.clock.sleep, made.count, RESYNC_SECONDS))
        await settle()
        await made.receive("ADDED", policy("new"))
        answered.set()
        await settle()
        assert made.take_posted() == [("changed", "new")]
        relisting.cancel()
        await asyncio.gather(relisting, return_exceptions=True)


async def test_an_unexpected_error_in_one_event_does_not_stop_later_events(caplog: pytest.LogCaptureFixture) -> None:
    async with listing([]) as made:
        await made.receive("ADDED", {"metadata": {"name": "broken", "uid": "u", "creationTimestamp": "yesterday"}})
        await made.receive("ADDED", policy("gold"))
        assert made.take_posted() == [("changed", "gold")]
    assert "because of a defect; report it" in caplog.text
