"""Electors over one Lease, with a clock that the test moves."""

import asyncio
import logging
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from fakes import FakeApi, FakeClock, Sent, running, settle
from moorage.errors import ApiUnreachable, Conflict, NotFound
from moorage.runtime.api_resources import HOLDER_POD
from moorage.runtime.events.event import Event
from moorage.runtime.leadership.elector import LeaderElector
from moorage.runtime.leadership.lease import Lease, LeaseMetadata, LeaseSpec
from moorage.settings import LeaderElectionSettings

SETTINGS = LeaderElectionSettings()
LEASE = SETTINGS.lease_duration_seconds
FENCE = SETTINGS.renew_deadline_seconds


class LeaseServer:
    """An API server with one Lease and compare-and-swap. Replicas in `cut` get no answer."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.cut: set[str] = set()
        self.writes: list[tuple[float, str]] = []

    def api(self, identity: str) -> FakeApi:
        def answer(sent: Sent) -> Any:
            if identity in self.cut:
                raise ApiUnreachable("cut off")
            return self._answer(sent)

        return FakeApi(answer, self.clock)

    def _answer(self, sent: Sent) -> Any:
        if sent.method == "GET":
            if self.lease is None:
                raise NotFound(404, "NotFound", "no lease")
            return self.lease
        version = sent.body["metadata"].get("resourceVersion", "")
        if version != (self.lease["metadata"]["resourceVersion"] if self.lease else ""):
            raise Conflict(409, "Conflict", "the object has been modified")
        self.version += 1
        self.lease = sent.body
        assert self.lease
        self.lease["metadata"] |= {"resourceVersion": str(self.version), "uid": "lease-uid"}
        self.writes.append((self.clock.now, self.spec["holderIdentity"]))
        return self.lease

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease
        found: dict[str, Any] = self.lease["spec"]
        return found


class Replica:
    def __init__(self, server: LeaseServer, identity: str, seed: int = 1) -> None:
        self.changes: list[tuple[bool, Event]] = []
        self.elector = LeaderElector(server.api(identity).client(), identity, SETTINGS, server.clock, Random(seed))
        self.elector.changed = lambda leads, event: self.changes.append((leads, event))

    @property
    def may_write(self) -> bool:
        return self.elector.may_write()


def cluster(*identities: str) -> tuple[FakeClock, LeaseServer, list[Replica]]:
    clock = FakeClock()
    server = LeaseServer(clock)
    return clock, server, [Replica(server, identity, seed) for seed, identity in enumerate(identities)]


async def watch(clock: FakeClock, seconds: float, check: Callable[[], None]) -> None:
    """Move the clock in small steps and check after each step."""
    for _ in range(int(seconds / 0.25)):
        await clock.advance(0.25)
        check()


async def test_the_first_replica_creates_the_lease_and_leads() -> None:
    clock, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await settle()
        assert replica.may_write
    assert server.spec["leaseDurationSeconds"] is not None
    (leads, event), *_ = replica.changes
    assert leads
    assert (event.reason, event.note) == ("LeaderElection", "a became leader")
    assert (event.regarding.kind, event.regarding.name, event.regarding.namespace) == (
        "Lease",
        "moorage",
        "kube-system",
    )
    assert server.writes[0] == (clock.now, "a")


async def test_the_lease_has_client_gos_fields() -> None:
    _, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await settle()
        assert server.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "1970-01-12T13:46:40.000000Z",
            "renewTime": "1970-01-12T13:46:40.000000Z",
            "leaseTransitions": 0,
        }


async def test_a_leader_renews_every_retry_period_and_keeps_its_acquire_time() -> None:
    clock, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await clock.advance(10)
        acquired = server.spec["acquireTime"]
    times = [at for at, holder in server.writes if holder == "a"]
    assert [later - earlier for earlier, later in pairwise(times)] == [2, 2, 2, 2, 2]
    assert acquired == "1970-01-12T13:46:40.000000Z"


async def test_two_replicas_never_write_at_the_same_time() -> None:
    clock, server, (a, b) = cluster("a", "b")

    def at_most_one() -> None:
        assert not (a.may_write and b.may_write)

    async with running(a.elector, b.elector):
        await watch(clock, 5, at_most_one)
        leader, other = (a, b) if a.may_write else (b, a)
        server.cut.add(leader.elector.identity)
        await watch(clock, 60, at_most_one)
        assert other.may_write
        assert not leader.may_write
        server.cut = {other.elector.identity}
        await watch(clock, 60, at_most_one)
        assert leader.may_write
    assert server.spec["leaseTransitions"] >= 2


async def test_a_leader_without_a_connection_stops_writing_before_another_replica_can_lead() -> None:
    clock, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await clock.advance(4)
        renewed = server.writes[-1][0]
        server.cut.add("a")
        await clock.advance(renewed + 0.98 * FENCE - clock.now)
        assert replica.may_write
        await clock.advance(0.0101 * FENCE)
        assert not replica.may_write, (
            "the fence must end 1 % before the renew deadline, so that no write starts at the deadline"
        )
        assert clock.now < renewed + FENCE < renewed + LEASE
        await clock.advance(5)
        assert [leads for leads, _ in replica.changes] == [True, False]


async def test_a_leader_stays_leader_in_a_short_outage() -> None:
    clock, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await clock.advance(4)
        server.cut.add("a")
        await clock.advance(6)
        server.cut.clear()
        await clock.advance(3)
        assert replica.may_write
        assert [leads for leads, _ in replica.changes] == [True]


async def test_after_a_crash_a_standby_takes_over_once_the_lease_has_expired() -> None:
    clock, server, (a, b) = cluster("a", "b")
    async with running(a.elector):
        await clock.advance(4)
        server.cut.add("a")  # as after kill -9
        last = server.writes[-1][0]
        async with running(b.elector):
            await watch(clock, 30, lambda: None)
            assert b.may_write
    taken = next(at for at, holder in server.writes if holder == "b")
    assert last + LEASE <= taken
    assert server.spec["leaseTransitions"] == 1


async def test_a_stop_during_a_renewal_still_releases_the_lease() -> None:
    _, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await settle()
        assert server.lease
        server.lease["metadata"]["resourceVersion"] = "renewed"
    assert server.spec["holderIdentity"] == ""


async def test_a_clean_stop_releases_the_lease_and_another_replica_takes_it_within_two_seconds() -> None:
    clock, server, (a, b) = cluster("a", "b")
    leading = asyncio.create_task(a.elector.run())
    await settle()
    async with running(b.elector):
        assert a.may_write
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        assert not a.may_write
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)
        assert [leads for leads, _ in a.changes] == [True, False]
        await watch(clock, 2, lambda: None)
        assert b.may_write


async def test_the_clock_of_another_replica_is_ignored() -> None:
    clock, server, (replica,) = cluster("a")
    server.version = 1
    server.lease = {
        "metadata": {"name": "moorage", "namespace": "kube-system", "resourceVersion": "1", "uid": "lease-uid"},
        "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "1970-01-01T00:00:00.000000Z"},
    }
    async with running(replica.elector):
        await clock.advance(LEASE - 0.5)
        assert not replica.may_write
        await clock.advance(5)
        assert replica.may_write


async def test_only_the_first_of_two_simultaneous_writes_succeeds() -> None:
    _, server, (a, b) = cluster("a", "b")
    async with running(a.elector, b.elector):
        await settle()
        assert [a.may_write, b.may_write].count(True) == 1
        assert len(server.writes) == 1


async def test_labels_that_other_clients_set_on_the_lease_are_kept() -> None:
    clock, server, (replica,) = cluster("a")
    async with running(replica.elector):
        await settle()
        assert server.lease
        server.lease["metadata"]["labels"] = {"team": "sched"}
        await clock.advance(4)
        assert server.lease["metadata"]["labels"] == {"team": "sched"}


async def test_a_standby_logs_the_holder_for_which_it_waits(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock, _, (first, second) = cluster("replica-1", "replica-2")
    assert first.elector.describe() == "standby, no holder of the Lease kube-system/moorage is known"
    async with running(first.elector):
        await clock.advance(1)
        async with running(second.elector):
            await clock.advance(LEASE)
            assert first.elector.describe() == "this replica holds the Lease kube-system/moorage as replica-1"
            assert second.elector.describe() == "standby, replica-1 holds the Lease kube-system/moorage"
    waits = "It waits until the Lease kube-system/moorage, held by replica-1, is released or expires"
    assert [message for message in caplog.messages if "standby" in message] == [f"This replica is a standby. {waits}"]


def test_the_lease_names_the_pod_of_its_holder_and_keeps_other_annotations() -> None:
    free = Lease(LeaseMetadata("moorage", "kube-system", annotations={"a": "b"}), LeaseSpec())
    held = free.held_by("pod-1_uuid", 15.0, 0.0, "ns/pod-1")
    assert held.metadata.annotations == {"a": "b", HOLDER_POD: "ns/pod-1"}
    assert held.held_by("laptop_uuid", 15.0, 20.0).metadata.annotations == {"a": "b"}
