"""StatusReporter builds a policy's status when its sources change. Errors in one policy do not affect others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from builders import node
from fakes import FakeApi, FakeClock, Sent, settle
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.nominator import Nominator
from moorage.cluster.snapshot import Snapshot
from moorage.compilation.node_facts import NodeFacts
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_facts import PolicyFacts
from moorage.controller.policy_report import PolicyCounts
from moorage.controller.policy_state import PolicyState
from moorage.controller.policy_warnings import PolicyWarnings
from moorage.controller.status_reporter import StatusReporter
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.tally import Tally


def manifest(name: str, uid: str = "", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or f"uid-{name}", "generation": 1}, "spec": {}, "status": status}


def build(policy: SchedulingPolicy) -> Profile:
    return Profile(name=policy.scheduler_name, queue_sort=PrioritySort())


class FailingFacts(PolicyFacts):
    """Facts that raise an error for the policy that the test names."""

    failing = ""

    def counts(self, state: PolicyState) -> PolicyCounts:
        if state.name == self.failing:
            raise ValueError("odd counts")
        return super().counts(state)


class UnschedulableFacts(PolicyFacts):
    """Facts in which every policy has a pod that fits no node."""

    def counts(self, state: PolicyState) -> PolicyCounts:
        counts = super().counts(state)
        return PolicyCounts(unschedulable=1, rejections=counts.rejections)


class Published(PolicyStatusWriter):
    """A writer that records the published statuses."""

    def __init__(self, api: FakeApi, clock: FakeClock) -> None:
        super().__init__(api.client(), clock)
        self.published: list[tuple[str, Any]] = []

    def publish(self, name: str, uid: str, status: Any) -> None:
        self.published.append((name, status))
        super().publish(name, uid, status)

    def take(self) -> dict[str, Any]:
        taken = dict(self.published)
        self.published.clear()
        return taken


class Reporting:
    """A reporter that uses real PolicyFacts."""

    def __init__(self, *names: str) -> None:
        self.clock = FakeClock()
        self.api = FakeApi(lambda _: {}, self.clock)
        self.writer = Published(self.api, self.clock)
        self.store = PolicyStore(build)
        self.tally = Tally()
        for name in names:
            self.store.replace(manifest(name))
        self.nodes = NodeColumns()
        warnings = PolicyWarnings((), NodeFacts(Snapshot(self.nodes, Nominator())), lambda: True)
        self.reporter = StatusReporter(self.store, self.writer, warnings, self.clock)

    def report(self, failing: str = "") -> dict[str, Any]:
        """Report once; return the published statuses by policy."""
        facts = FailingFacts(Scheduler(1), self.tally, lambda _: ())
        facts.failing = failing
        self.reporter.report(facts)
        return self.writer.take()

    def profile(self, name: str) -> Profile:
        (found,) = [state.profile for state in self.store.states() if state.name == name]
        assert found is not None
        return found


def test_a_status_is_built_again_only_if_its_sources_changed() -> None:
    reporting = Reporting("gold", "silver")
    assert list(reporting.report()) == ["gold", "silver"]
    assert reporting.report() == {}
    reporting.tally.of(reporting.profile("gold")).bound += 1
    assert {name: status["pods"]["bound"] for name, status in reporting.report().items()} == {"gold": 1}


def test_an_error_in_one_status_is_logged_once_with_its_policy_and_other_statuses_are_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporting = Reporting("broken", "gold")
    assert list(reporting.report(failing="broken")) == ["gold"]
    reporting.tally.of(reporting.profile("gold")).bound += 1
    assert list(reporting.report(failing="broken")) == ["gold"]
    assert caplog.messages == [
        "The status of SchedulingPolicy broken cannot be built and stays as it is; report this defect"
    ]
    assert list(reporting.report()) == ["broken"]


def test_a_rejection_reason_is_shortened_if_it_exceeds_the_limit_of_the_api() -> None:
    reporting = Reporting("gold", "silver")
    scheduler = Scheduler(1, [reporting.profile("gold")])
    reporting.tally.of(reporting.profile("gold")).rejections = {"x" * 2000: 3}
    facts = UnschedulableFacts(scheduler, reporting.tally, lambda _: ())
    reporting.reporter.report(facts)
    statuses = reporting.writer.take()
    assert list(statuses) == ["gold", "silver"]
    (rejection,) = statuses["gold"]["topRejections"]
    assert len(rejection) == 1024


def test_an_unchanged_condition_keeps_the_transition_time_from_the_api_server() -> None:
    reporting = Reporting()
    since = "2020-01-01T00:00:00Z"
    accepted = {"type": "Accepted", "status": "True", "reason": "Accepted", "lastTransitionTime": since}
    reporting.store.replace(manifest("gold", conditions=[accepted]))
    times = {each["type"]: each["lastTransitionTime"] for each in reporting.report()["gold"]["conditions"]}
    assert times["Accepted"] == since
    assert times["Programmed"] != since


def test_a_status_is_written_again_only_for_nodes_that_change_its_warnings() -> None:
    reporting = Reporting()
    filters = {"zones": {"allow": ["a"]}, "instanceTypes": {"allow": ["c5*"]}}
    reporting.store.replace(manifest("gold") | {"spec": {"filters": filters}})
    reporting.report()

    def report_with(name: str, **fields: Any) -> list[str]:
        reporting.nodes.set_node(node(name, **fields))
        published = reporting.report()
        conditions = published["gold"]["conditions"] if published else []
        return [each["message"] for each in conditions if each["type"] == "Warnings"]

    unmatched = "spec.filters.instanceTypes.allow: c5* matches the instance type of no node"
    assert report_with("n0", zone="b") == [f"{unmatched}; spec.filters.zones.allow: no node is in the zone a"]
    assert report_with("n1", zone="c") == []
    assert report_with("n2", zone="a") == [unmatched]
    assert report_with("n3", zone="a") == []
    assert report_with("n4", labels={"node.kubernetes.io/instance-type": "c5.large"}) == [""]


async def test_the_status_of_a_deleted_policy_is_not_written_again() -> None:
    def answer(_: Sent) -> Any:
        raise AssertionError("a deleted policy has no status")

    reporting = Reporting("gold")
    reporting.api.answer = answer
    reporting.report()
    reporting.store.remove(manifest("gold"))
    reporting.report()
    await reporting.writer.flush()
    assert reporting.api.sent == []


def test_a_policy_that_was_created_again_gets_a_new_status() -> None:
    reporting = Reporting("gold")
    reporting.report()
    reporting.store.replace(manifest("gold", uid="uid-new"))
    assert list(reporting.report()) == ["gold"]


async def test_a_changed_policy_is_reported_at_once_and_changed_counts_are_reported_once_a_second() -> None:
    reporting = Reporting("gold", "silver")
    scheduler = Scheduler(1)
    counted: list[float] = []

    def facts() -> PolicyFacts:
        counted.append(reporting.clock.now)
        return PolicyFacts(scheduler, reporting.tally, lambda _: ())

    running = asyncio.create_task(reporting.reporter.run(facts))
    await reporting.clock.advance(0.5)
    assert list(reporting.writer.take()) == ["gold", "silver"]
    for name in ("gold", "silver", "bronze"):
        changes = reporting.store.replace(manifest(name) | {"metadata": {"name": name, "generation": 2}})
        reporting.reporter.states_changed(changes.states)
    reporting.tally.of(reporting.profile("gold")).bound += 1
    await settle()
    published = reporting.writer.take()
    assert {name: each["observedGeneration"] for name, each in published.items()} == dict.fromkeys(
        ("gold", "silver", "bronze"), 2
    )
    reporting.tally.of(reporting.profile("gold")).bound += 1
    await reporting.clock.advance(0.4)
    assert list(reporting.writer.take()) == []
    await reporting.clock.advance(0.2)
    assert list(reporting.writer.take()) == ["gold"]
    assert len(counted) == 3
    running.cancel()


async def test_the_reporter_counts_pods_at_most_ten_times_a_second_during_a_burst_of_changes() -> None:
    reporting = Reporting()
    counted = 0

    def facts() -> PolicyFacts:
        nonlocal counted
        counted += 1
        return PolicyFacts(Scheduler(1), reporting.tally, lambda _: ())

    running = asyncio.create_task(reporting.reporter.run(facts))
    for number in range(200):
        reporting.reporter.states_changed(reporting.store.replace(manifest(f"p{number}")).states)
        await reporting.clock.advance(0.01)
    assert 18 <= counted <= 22
    assert len(reporting.writer.take()) >= 190
    running.cancel()
