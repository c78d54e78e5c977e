"""What becomes of each outcome."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from builders import pod
from fakes import FakeClock, FakeObserver, FakeRecorder
from moorage.api.plugin_config import Plugins
from moorage.engine.cycle.decision import Decision, Diagnosis
from moorage.engine.outcomes import (
    Bind,
    CallExtenders,
    Held,
    HoldReason,
    Outcome,
    SchedulingFailed,
    Skipped,
    Unschedulable,
)
from moorage.framework.profile import PolicyReference, Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.runtime.outcome_router import Carriers, OutcomeRouter
from moorage.runtime.pod_status_writer import PodScheduled
from moorage.runtime.reporter import Reporter
from moorage.runtime.tally import Tally


def profile_of(generation: int = 1, uid: str = "uid") -> Profile:
    reference = PolicyReference("gold-policy", uid, generation)
    return Registry.discover().build_profile(ProfileSpec(scheduler_name="gold", policy=reference))


PROFILE = profile_of()
WORDS = "0/1 nodes are available: 1 Insufficient cpu."


def unschedulable(victims: Sequence[Pod] = (), nominated: str | None = None) -> Unschedulable:
    return Unschedulable(
        pod=pod("p"),
        profile=PROFILE,
        message=WORDS,
        diagnosis=Diagnosis(1, {"Insufficient cpu": 1}),
        nominated_node_name=nominated,
        victims=victims,
        attempts=1,
        unchanged=False,
    )


BIND = Bind(
    pod=pod("p", node="n1"),
    node_name="n1",
    profile=PROFILE,
    intents=(),
    decision=Decision("n1", 1, 1, 1),
    attempts=2,
    first_attempt_at=1_000_000.0 - 5,
)


class Submitted(list[Any]):
    """Takes whatever is submitted."""

    is_full: bool = False

    def submit(self, *what: Any) -> None:
        self.append(what)


class Bench:
    def __init__(self) -> None:
        self.clock, self.observer = FakeClock(), FakeObserver()
        self.recorder, self.statuses, self.tally = FakeRecorder(), Submitted(), Tally()
        self.reporter = Reporter(self.recorder, self.statuses, self.observer, self.tally, self.clock)
        self.binder = Submitted()
        self.evictor, self.extenders = Submitted(), Submitted()
        self.leads = True
        self.claim_repair = Submitted()
        carriers = Carriers(
            binder=self.binder,
            reporter=self.reporter,
            evictor=self.evictor,
            extenders=self.extenders,
            claim_repair=self.claim_repair,
        )
        self.router = OutcomeRouter(carriers, lambda: self.leads)

    def carry_out(self, outcome: Outcome) -> None:
        self.router.carry_out(outcome, self.clock.now - 0.5)


def test_a_decision_goes_to_the_binder() -> None:
    bench = Bench()
    bench.carry_out(BIND)
    assert bench.binder == [(BIND, bench.clock.now - 0.5)]


def test_a_pod_that_fits_nowhere_is_told_by_condition_event_metric_and_tally() -> None:
    bench = Bench()
    bench.carry_out(unschedulable())
    ((told, status),) = bench.statuses
    assert (told.name, status) == ("p", PodScheduled("Unschedulable", WORDS, None))
    (event,) = bench.recorder.events
    assert (event.reason, event.note, event.reporter, event.warning) == ("FailedScheduling", WORDS, "gold", True)
    assert bench.observer.named("attempt") == [("unschedulable", "gold", 0.5)]
    assert bench.tally.of(PROFILE).rejections == {"Insufficient cpu": 1}
    assert not bench.evictor
    assert [pod.name for (pod,) in bench.claim_repair] == ["p"]


def test_what_a_plugin_does_not_understand_in_a_pod_is_told_once() -> None:
    bench = Bench()
    plugins = Plugins.model_validate({"score": {"enabled": [{"name": "Lifecycle"}]}})
    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="gold", plugins=plugins))
    outcome = replace(unschedulable(), pod=pod("p", labels={"lifecycle-preference": "spto"}), profile=profile)
    bench.carry_out(outcome)
    bench.carry_out(replace(outcome, attempts=2))
    (remark,) = [event for event in bench.recorder.events if event.reason == "NotUnderstood"]
    assert remark.note.startswith("label lifecycle-preference=spto names no lifecycle")


def test_victims_are_evicted_and_the_nomination_written() -> None:
    bench = Bench()
    outcome = unschedulable([pod("victim")], "n1")
    bench.carry_out(outcome)
    assert bench.evictor == [(outcome,)]
    assert bench.statuses[0][1].nominated_node_name == "n1"


def test_a_fault_has_a_reason_of_its_own_so_that_autoscalers_do_not_buy_nodes() -> None:
    bench = Bench()
    bench.carry_out(SchedulingFailed(pod=pod("p"), profile=PROFILE, message="oops", attempts=1, unchanged=False))
    assert bench.statuses[0][1] == PodScheduled("SchedulerError", "oops")
    assert bench.recorder.notes == ["oops"]
    assert bench.observer.named("attempt") == [("error", "gold", 0.5)]


def test_the_first_error_of_a_row_and_the_end_of_the_row_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench()
    failed = SchedulingFailed(pod=pod("p"), profile=PROFILE, message="oops", attempts=1, unchanged=False)
    for outcome in (failed, replace(failed, message="worse"), unschedulable(), unschedulable(), failed):
        bench.carry_out(outcome)
    first = "an attempt to schedule pod default/p ended in an error, profile gold: oops"
    assert caplog.messages == [first, "profile gold schedules again, after 2 errors", first]
    tally = bench.tally.of(PROFILE)
    assert (tally.errors_in_a_row, tally.last_error) == (1, "oops")
    bench.reporter.bound(BIND, bench.clock.now)
    assert tally.errors_in_a_row == 0


def test_extenders_are_asked() -> None:
    bench = Bench()
    outcome = CallExtenders(pod=pod("p"), profile=PROFILE, node_names=("n1",))
    bench.carry_out(outcome)
    assert bench.extenders == [(outcome,)]


def test_a_pod_without_a_policy_is_told_in_an_event_and_has_no_condition() -> None:
    bench = Bench()
    waiting = pod("p", spec={"schedulerName": "nobody"})
    bench.carry_out(Held(pod=waiting, reason=HoldReason.NO_PROFILE))
    (event,) = bench.recorder.events
    assert event.warning
    assert "No SchedulingPolicy has the schedulerName nobody" in event.note
    assert "kubectl get schedulingpolicies" in event.note
    assert event.reporter == "nobody"
    assert not bench.statuses


def test_a_pod_of_a_refused_policy_is_told_why_it_waits() -> None:
    bench = Bench()
    refusal = "SchedulingPolicy shiny is refused: there is no plugin 'Nope'"
    bench.carry_out(Held(pod=pod("p"), reason=HoldReason.REFUSED, message=refusal))
    (event,) = bench.recorder.events
    assert (event.reason, event.warning) == ("SchedulingPolicyRefused", True)
    assert event.note.startswith(refusal + "; the pod waits until it is mended (`kubectl get schedulingpolicies`")
    assert not bench.statuses


def test_a_pod_of_a_paused_policy_is_told_without_alarm() -> None:
    bench = Bench()
    bench.carry_out(Held(pod=pod("p", spec={"schedulerName": "gold"}), reason=HoldReason.PAUSED))
    (event,) = bench.recorder.events
    assert not event.warning
    assert "gold is paused" in event.note
    assert not bench.statuses


def test_a_pod_that_is_being_deleted_is_only_told() -> None:
    bench = Bench()
    bench.carry_out(Skipped(pod=pod("p"), profile=PROFILE, message="skip schedule deleting pod: default/p"))
    assert bench.recorder.notes == ["skip schedule deleting pod: default/p"]
    assert not bench.statuses


def test_a_bound_pod_is_counted_with_its_attempts_and_its_wait() -> None:
    bench = Bench()
    bench.reporter.bound(BIND, bench.clock.now - 0.5)
    assert bench.recorder.notes == ["Successfully assigned default/p to n1"]
    assert bench.observer.named("attempt") == [("scheduled", "gold", 0.5)]
    assert bench.observer.named("bound") == [(2, 5.0)]
    tally = bench.tally.of(PROFILE)
    assert (tally.bound, tally.failed, tally.last_bound_time) == (1, 0, bench.clock.now)
    assert not bench.statuses


def test_a_failed_bind_is_told_and_counted() -> None:
    bench = Bench()
    bench.reporter.bind_failed(BIND, "node n1 was deleted", bench.clock.now)
    assert bench.statuses[0][1] == PodScheduled("SchedulerError", "binding rejected: node n1 was deleted")
    assert bench.tally.of(PROFILE).failed == 1


def test_numbers_begin_anew_with_a_new_generation_and_an_old_one_cannot_bring_them_back() -> None:
    bench = Bench()
    bench.reporter.bound(BIND, bench.clock.now)
    assert bench.tally.of(profile_of(2)).bound == 0
    bench.reporter.bound(BIND, bench.clock.now)
    assert bench.tally.of(profile_of(2)).bound == 1


def test_numbers_begin_anew_with_a_policy_that_was_deleted_and_made_again() -> None:
    bench = Bench()
    bench.tally.of(profile_of(3)).bound = 7
    again = profile_of(1, uid="another")
    assert bench.tally.of(again).bound == 0
    bench.tally.of(profile_of(3)).bound += 1
    assert bench.tally.of(again).bound == 0


def test_no_pod_is_tried_while_the_binder_is_full_or_another_replica_leads() -> None:
    bench = Bench()
    assert bench.router.is_ready
    bench.leads = False
    assert not bench.router.is_ready
    bench.leads, bench.binder.is_full = True, True
    assert not bench.router.is_ready
