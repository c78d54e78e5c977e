"""What a policy's status says of its pods and of what fails."""

from __future__ import annotations

from moorage.controller.policies import PolicyState
from moorage.controller.policy_facts import FAILURES_IN_A_ROW, EngineFacts
from moorage.engine.scheduler import Scheduler
from moorage.framework.profile import Profile
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.tally import Tally
from moorage.runtime.troubles import Trouble

GOLD = Profile(name="gold", queue_sort=PrioritySort())
LIVE = PolicyState(
    name="gold", uid="u", scheduler_name="gold", observed_generation=1, profile=GOLD, refusal=None, conditions=()
)
EXTENDER = Trouble("ExtenderFailing", "extender x fails")


def reasons(tally: Tally, *extender_troubles: Trouble) -> list[str]:
    facts = EngineFacts(Scheduler(1, [GOLD]), tally, lambda _: extender_troubles)
    return [trouble.reason for trouble in facts.troubles(LIVE)]


def test_attempts_that_end_in_errors_are_a_trouble_from_the_third_in_a_row_until_one_ends_otherwise() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row, numbers.last_error = FAILURES_IN_A_ROW - 1, "score 101 is out of range"
    assert reasons(tally) == []
    numbers.errors_in_a_row += 1
    (trouble,) = EngineFacts(Scheduler(1), tally, lambda _: ()).troubles(LIVE)
    assert trouble.reason == "SchedulingFailing"
    assert trouble.message.endswith("the last one: score 101 is out of range")
    numbers.errors_in_a_row = 0
    assert reasons(tally) == []


def test_a_failing_extender_is_the_first_reason_of_several() -> None:
    tally = Tally()
    numbers = tally.of(GOLD)
    numbers.errors_in_a_row = numbers.failures_in_a_row = FAILURES_IN_A_ROW
    assert reasons(tally, EXTENDER) == ["ExtenderFailing", "SchedulingFailing", "BindFailing"]
