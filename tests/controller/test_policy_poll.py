"""PolicyPoll passes on events from short watches, and detects events that kopf's watch misses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fakes import FakeApi, FakeClock, Sent, fixed_random
from moorage.controller.policy_poll import PolicyPoll
from moorage.controller.seen_versions import SeenVersions
from moorage.controller.watch_lag import LAG_SECONDS, START_SECONDS, WatchLag
from moorage.errors import ApiError, MoorageError, NotFound


def policy(version: int, name: str = "gold") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}}


class Polling:
    """A PolicyPoll, and the answers of the API server to its requests."""

    def __init__(self) -> None:
        self.clock = FakeClock(auto=True)
        self.listed: list[dict[str, Any]] | MoorageError = []
        self.events: list[dict[str, Any]] | MoorageError = []
        self.received: list[tuple[str, str]] = []
        self.restarts = 0
        self.api = FakeApi(self.answer, self.clock)
        self.poll = PolicyPoll(self.api.client(), fixed_random(), self.receive, self.clock)
        self.poll.restart_watch = self.restart

    def answer(self, sent: Sent) -> Any:
        if sent.method == "WATCH":
            if isinstance(self.events, MoorageError):
                raise self.events
            lines, self.events = [json.dumps(event).encode() + b"\n" for event in self.events], []
            self.clock.now += 5
            return lines
        if isinstance(self.listed, MoorageError):
            raise self.listed
        return {"metadata": {"resourceVersion": "10"}, "items": self.listed}

    def receive(self, type_: str, manifest: Mapping[str, Any]) -> None:
        self.received.append((type_, manifest["metadata"]["name"]))

    def restart(self) -> None:
        self.restarts += 1


async def test_events_of_short_watches_are_passed_on() -> None:
    made = Polling()
    made.listed = [policy(9)]
    assert await made.poll.list() == [policy(9)]
    made.events = [{"type": "MODIFIED", "object": policy(11)}, {"type": "DELETED", "object": policy(12)}]
    await made.poll.follow(5)
    assert made.received == [("MODIFIED", "gold"), ("DELETED", "gold")]


async def test_follow_returns_after_a_failed_watch_so_that_its_caller_lists_the_policies() -> None:
    made = Polling()
    await made.poll.list()
    made.events = ApiError(500, "InternalError", "oops")
    started = made.clock.now
    await made.poll.follow(60)
    assert made.clock.now - started < 10


async def test_kopf_is_started_again_when_it_misses_an_event() -> None:
    made = Polling()
    await made.poll.list()
    await made.poll.follow(START_SECONDS + 5)
    made.events = [{"type": "ADDED", "object": policy(11)}]
    await made.poll.follow(30)
    assert made.restarts == 1


async def test_kopf_is_not_started_again_while_it_reports_events() -> None:
    made = Polling()
    await made.poll.list()
    await made.poll.follow(START_SECONDS + 5)
    made.events = [{"type": "ADDED", "object": policy(11)}]
    made.poll.receive_from_watch("ADDED", policy(11))
    await made.poll.follow(30)
    assert made.restarts == 0


async def test_kopf_is_started_again_when_the_crd_appears() -> None:
    made = Polling()
    made.listed = NotFound(404, "NotFound", "no such resource")
    with pytest.raises(NotFound):
        await made.poll.list()
    made.listed = []
    await made.poll.list()
    assert made.restarts == 1


def test_older_events_are_not_overdue_if_kopf_delivers_a_newer_event() -> None:
    clock = FakeClock()
    lag = WatchLag(clock)
    clock.now += START_SECONDS + 1
    lag.seen(policy(11))
    lag.seen(policy(12))
    clock.now += LAG_SECONDS + 1
    assert lag.is_overdue()
    lag.delivered(policy(13))
    assert not lag.is_overdue()


def test_a_late_event_does_not_bring_back_a_deleted_policy() -> None:
    seen = SeenVersions()
    assert seen.is_new(policy(11))
    assert seen.is_new(policy(15))
    seen.listed([])
    assert not seen.is_new(policy(12))
    assert seen.is_new(policy(16))


def test_versions_of_deleted_policies_are_forgotten() -> None:
    seen = SeenVersions()
    for number in range(100):
        seen.is_new(policy(number, f"p{number}"))
        seen.listed([])
    assert len(seen._versions) <= 2
