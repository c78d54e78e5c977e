"""Reports about each result: the pod's condition and event, metrics, and the profile's numbers."""

import logging

import pytest
from msgspec.structs import replace

from builders import pod
from fakes import FakeClock
from moorage.api.plugin_config import Plugins
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.engine.outcomes import Held, HoldReason, Misnamed, SchedulingFailed, Unschedulable
from moorage.framework.profile import PolicyReference, Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.runtime.pod_status_writer import PodScheduled
from runtime_parts import RuntimeParts, bind_of
from scrape import sample


def profile_of(generation: int = 1, uid: str = "uid") -> Profile:
    reference = PolicyReference("gold-policy", uid, generation)
    return Registry.discover().build_profile(ProfileSpec(scheduler_name="gold", policy=reference))


PROFILE = profile_of()
MESSAGE = "0/1 nodes are available: 1 Insufficient cpu."
UNSCHEDULABLE = Unschedulable(
    pod=pod("p"),
    profile=PROFILE,
    message=MESSAGE,
    diagnosis=Diagnosis(1, {"Insufficient cpu": 1}, causes={("Insufficient cpu", ""): 1}),
    nominated_node_name=None,
    victims=(),
    attempts=1,
    unchanged=False,
)
FAILED = SchedulingFailed(pod=pod("p"), profile=PROFILE, message="oops", attempts=1, unchanged=False)
BIND = bind_of(pod("p", node="n1"), profile=PROFILE, attempts=2)
STARTED = FakeClock().now - 0.5
SECONDS = "scheduler_scheduling_attempt_duration_seconds_sum"


def test_an_unschedulable_pod_gets_a_condition_and_an_event_and_is_counted() -> None:
    parts = RuntimeParts()
    parts.reporter.report_unschedulable(UNSCHEDULABLE, STARTED)
    assert parts.statuses.submitted == [(UNSCHEDULABLE.pod, PodScheduled("Unschedulable", MESSAGE, None))]
    (event,) = parts.recorder.events
    assert (event.reason, event.note, event.reporter, event.warning) == ("FailedScheduling", MESSAGE, "gold", True)
    assert sample(parts.metrics, SECONDS, result="unschedulable", profile="gold") == 0.5
    assert parts.tally.of(PROFILE).rejections == {"Insufficient cpu": 1}


def test_a_warning_of_a_plugin_about_a_pod_is_recorded_only_at_the_first_attempt() -> None:
    parts = RuntimeParts()
    plugins = Plugins.model_validate({"score": {"enabled": [{"name": "Lifecycle"}]}})
    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="gold", plugins=plugins))
    outcome = replace(UNSCHEDULABLE, pod=pod("p", labels={"lifecycle-preference": "spto"}), profile=profile)
    parts.reporter.report_unschedulable(outcome, STARTED)
    parts.reporter.report_unschedulable(replace(outcome, attempts=2), STARTED)
    (warning,) = [event for event in parts.recorder.events if event.reason == "NotUnderstood"]
    assert warning.note.startswith("label lifecycle-preference=spto names no lifecycle")


def test_an_error_has_its_own_reason_so_that_autoscalers_add_no_nodes() -> None:
    parts = RuntimeParts()
    parts.reporter.report_failed(FAILED, STARTED)
    assert parts.statuses.submitted[0][1] == PodScheduled("SchedulerError", "oops")
    assert parts.recorder.notes == ["oops"]
    assert sample(parts.metrics, SECONDS, result="error", profile="gold") == 0.5


def test_the_first_of_several_errors_and_their_end_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    parts = RuntimeParts()
    reporter = parts.reporter
    reporter.report_failed(FAILED, STARTED)
    reporter.report_failed(replace(FAILED, message="worse"), STARTED)
    reporter.report_unschedulable(UNSCHEDULABLE, STARTED)
    reporter.report_unschedulable(UNSCHEDULABLE, STARTED)
    reporter.report_failed(FAILED, STARTED)
    first = "Scheduling pod default/p with profile gold ended in an error; the pod is tried again: oops"
    assert caplog.messages == [first, "Profile gold schedules without errors again, after 2 errors", first]
    tally = parts.tally.of(PROFILE)
    assert (tally.errors_in_a_row, tally.last_error) == (1, "oops")
    reporter.report_bound(BIND, STARTED)
    assert tally.errors_in_a_row == 0


def test_a_held_pod_gets_an_event_and_a_condition_whose_reason_is_not_unschedulable() -> None:
    parts = RuntimeParts()
    waiting = pod("p", spec={"schedulerName": "nope"})
    parts.reporter.report_held(Held(pod=waiting, reason=HoldReason.NO_PROFILE))
    (event,) = parts.recorder.events
    assert event.warning
    assert event.note == (
        "No SchedulingPolicy has the schedulerName nope any more; the pod waits until a policy has it "
        "(`kubectl get schedulingpolicies` lists the policies)"
    )
    assert (event.reason, event.reporter) == ("SchedulingPolicyNotFound", "nope")
    assert parts.statuses.submitted == [(waiting, PodScheduled("SchedulingPolicyNotFound", event.note))]


def test_a_pod_of_a_refused_policy_gets_the_reason_of_the_refusal() -> None:
    parts = RuntimeParts()
    refusal = "SchedulingPolicy shiny is refused: there is no plugin 'Nope'"
    parts.reporter.report_held(Held(pod=pod("p"), reason=HoldReason.REFUSED, message=refusal))
    (event,) = parts.recorder.events
    assert (event.reason, event.warning) == ("SchedulingPolicyRefused", True)
    assert event.note.startswith(refusal + "; the pod waits until the policy is corrected (`kubectl get")
    assert parts.statuses.submitted[0][1] == PodScheduled("SchedulingPolicyRefused", event.note)


def test_the_condition_of_a_held_pod_is_as_short_as_its_event() -> None:
    parts = RuntimeParts()
    parts.reporter.report_held(Held(pod=pod("p"), reason=HoldReason.REFUSED, message="x" * 100_000))
    assert len(parts.statuses.submitted[0][1].message) == 1024


def test_a_pod_of_a_paused_policy_gets_a_normal_event() -> None:
    parts = RuntimeParts()
    parts.reporter.report_held(Held(pod=pod("p", spec={"schedulerName": "gold"}), reason=HoldReason.PAUSED))
    (event,) = parts.recorder.events
    assert not event.warning
    assert "gold is paused" in event.note
    assert parts.statuses.submitted[0][1] == PodScheduled("SchedulingPolicyPaused", event.note)


def test_a_misnamed_pod_gets_an_event_with_the_similar_name_and_no_condition() -> None:
    parts = RuntimeParts()
    parts.reporter.report_misnamed(Misnamed(pod=pod("p", spec={"schedulerName": "glod"}), similar_name="gold"))
    (event,) = parts.recorder.events
    assert (event.reason, event.warning) == ("UnknownSchedulerName", True)
    assert event.note.startswith("No SchedulingPolicy has the schedulerName glod; did you mean gold? ")
    assert not parts.statuses.submitted


def test_a_bound_pod_is_counted_with_its_attempts_and_waiting_time() -> None:
    parts = RuntimeParts()
    parts.reporter.report_bound(BIND, STARTED)
    assert parts.recorder.notes == ["Successfully assigned default/p to n1"]
    assert sample(parts.metrics, SECONDS, result="scheduled", profile="gold") == 0.5
    assert sample(parts.metrics, "scheduler_pod_scheduling_attempts_sum") == 2
    assert sample(parts.metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="2") == 5
    tally = parts.tally.of(PROFILE)
    assert (tally.bound, tally.failed, tally.last_bound_time) == (1, 0, parts.clock.now)
    assert not parts.statuses.submitted


def test_a_failed_binding_is_reported_and_counted() -> None:
    parts = RuntimeParts()
    parts.reporter.report_bind_failed(BIND, "node n1 was deleted", STARTED)
    assert parts.statuses.submitted[0][1] == PodScheduled("SchedulerError", "binding rejected: node n1 was deleted")
    assert parts.tally.of(PROFILE).failed == 1


def test_a_new_generation_starts_at_zero_and_also_counts_late_results_of_the_old_generation() -> None:
    parts = RuntimeParts()
    parts.reporter.report_bound(BIND, STARTED)
    assert parts.tally.of(profile_of(2)).bound == 0
    parts.reporter.report_bound(BIND, STARTED)
    assert parts.tally.of(profile_of(2)).bound == 1


def test_a_policy_that_was_deleted_and_created_again_starts_at_zero() -> None:
    parts = RuntimeParts()
    parts.tally.of(profile_of(3)).bound = 7
    again = profile_of(1, uid="another")
    assert parts.tally.of(again).bound == 0
    parts.tally.of(profile_of(3)).bound += 1
    assert parts.tally.of(again).bound == 0
