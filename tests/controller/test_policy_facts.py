"""PolicyFacts counts the pods of a policy and finds its degradations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from builders import node, pod
from engine.scheduler_driver import add_objects, kube_profile, run_until_idle, scheduler_of
from moorage.controller.policy_facts import FAILURES_IN_A_ROW, PolicyFacts
from moorage.controller.policy_report import PolicyCounts
from moorage.controller.policy_state import PolicyRefusal, PolicyState
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import CanaryShare, Profile
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.degradation import Degradation
from moorage.runtime.tally import Tally

GOLD = Profile(name="gold", queue_sort=PrioritySort())
LIVE = PolicyState(
    name="gold", uid="u", scheduler_name="gold", observed_generation=1, profile=GOLD, refusal=None, conditions=()
)
EXTENDER = Degradation("ExtenderFailing", "extender x fails")


def reasons(tally: Tally, *extender_degradations: Degradation) -> list[str]:
    facts = PolicyFacts(Scheduler(1, [GOLD]), tally, lambda _: extender_degradations)
    return [degradation.reason for degradation in facts.degradations(LIVE)]


def counts(state: PolicyState, tally: Tally | None = None) -> PolicyCounts:
    """Count the pods in a cluster with two waiting pods of `gold`. One pod was not tried yet.

    The other pod fits no node.
    """
    scheduler = scheduler_of(
        node("n1", cpu="1"),
        pod("large", cpu="2", spec={"schedulerName": "gold"}),
        profiles=(kube_profile("gold"),),
    )
    run_until_idle(scheduler)
    add_objects(scheduler, pod("new", cpu="1", spec={"schedulerName": "gold"}))
    return PolicyFacts(scheduler, tally or Tally(), lambda _: ()).counts(state)


def test_pending_and_unschedulable_pods_are_counted_separately() -> None:
    assert counts(LIVE) == PolicyCounts(pending=1, unschedulable=1, rejections={})


def test_a_refused_policy_counts_the_waiting_pods_of_its_name() -> None:
    refused = replace(LIVE, profile=None, refusal=PolicyRefusal("InvalidSpec", "no"))
    assert counts(refused) == PolicyCounts(pending=1, unschedulable=1)


def test_pods_of_a_name_that_another_policy_owns_are_not_counted() -> None:
    assert counts(replace(LIVE, profile=None, refusal=PolicyRefusal("NameConflict", "no"))) == PolicyCounts()


def test_the_tally_has_the_number_of_bindings_and_the_time_of_the_last_binding_in_whole_seconds() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.bound, numbers.failed, numbers.last_bound_time, numbers.rejections = 3, 1, 1.9, {"full": 2}
    found = counts(LIVE, tally)
    assert (found.bound, found.failed, found.rejections) == (3, 1, {"full": 2})
    assert found.last_bound_time == datetime.fromtimestamp(1, UTC)


def test_three_failed_attempts_in_a_row_degrade_the_policy_until_an_attempt_succeeds() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row, numbers.last_error = FAILURES_IN_A_ROW - 1, "score 101 is out of range"
    assert reasons(tally) == []
    numbers.errors_in_a_row += 1
    (degradation,) = PolicyFacts(Scheduler(1), tally, lambda _: ()).degradations(LIVE)
    assert degradation.reason == "SchedulingFailing"
    assert degradation.message.endswith("; last: score 101 is out of range")
    numbers.errors_in_a_row = 0
    assert reasons(tally) == []


def test_a_failing_extender_is_the_first_of_several_reasons() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row = numbers.failures_in_a_row = FAILURES_IN_A_ROW
    assert reasons(tally, EXTENDER) == ["ExtenderFailing", "SchedulingFailing", "BindFailing"]


URL = "http://10.0.0.1:9090"


def test_an_error_that_a_failing_extender_causes_is_reported_once() -> None:
    """Otherwise, the condition's message would name one fault twice."""
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row = numbers.failures_in_a_row = FAILURES_IN_A_ROW
    numbers.last_error = f"running extender {URL}/filter: not called for now, because the last calls failed: refused"
    numbers.last_failure = f"extender {URL}/bind: refused"
    extender = replace(EXTENDER, subject=URL)
    assert reasons(tally, extender) == ["ExtenderFailing"]
    numbers.last_failure = "node n1 was deleted"
    assert reasons(tally, extender) == ["ExtenderFailing", "BindFailing"]
    numbers.last_error = "score 101 is out of range"
    assert reasons(tally, extender) == ["ExtenderFailing", "SchedulingFailing", "BindFailing"]


def test_an_extender_that_may_work_again_is_reported_as_failing_only_while_pods_wait() -> None:
    unknown = replace(EXTENDER, ready="Unknown")
    scheduler = scheduler_of(profiles=(kube_profile("gold"),))
    (idle,) = PolicyFacts(scheduler, Tally(), lambda _: [unknown]).degradations(LIVE)
    assert idle.ready == "Unknown"
    add_objects(scheduler, pod("new", spec={"schedulerName": "gold"}))
    (awaited,) = PolicyFacts(scheduler, Tally(), lambda _: [unknown]).degradations(LIVE)
    assert awaited.ready == "False"


def test_a_canary_that_takes_no_pods_has_a_warning() -> None:
    canary = kube_profile("next", canary=CanaryShare("gone", 10))
    state = replace(LIVE, name="next", scheduler_name="next", profile=canary)
    facts = PolicyFacts(Scheduler(1, [canary]), Tally(), lambda _: ())
    (warning,) = facts.warnings(state)
    assert warning.reason == "CanaryTakesNoPods"
    assert warning.message == "spec.canary takes no pods: no live policy has the name gone"
    assert facts.warnings(LIVE) == ()
