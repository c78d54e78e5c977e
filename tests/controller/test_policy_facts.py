"""PolicyFacts: the counts and degradations of a policy."""

from __future__ import annotations

from moorage.controller.policy_facts import FAILURES_IN_A_ROW, PolicyFacts
from moorage.controller.policy_state import PolicyState
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
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


def test_three_attempts_in_a_row_that_end_in_errors_degrade_the_policy_until_one_succeeds() -> None:
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


def test_a_failing_extender_is_the_first_reason_of_several() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row = numbers.failures_in_a_row = FAILURES_IN_A_ROW
    assert reasons(tally, EXTENDER) == ["ExtenderFailing", "SchedulingFailing", "BindFailing"]
