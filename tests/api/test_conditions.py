from datetime import UTC, datetime, timedelta

import pytest

from moorage.api.conditions import (
    ACCEPTED,
    DEGRADED,
    PROGRAMMED,
    READY,
    STALLED,
    UNDATED,
    ConditionStatus,
    condition,
    merge,
    summarize,
)
from moorage.api.policy_status import Condition

NOW = datetime(2026, 11, 30, 1, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def by_type(conditions: tuple[Condition, ...]) -> dict[str, Condition]:
    return {one.type: one for one in conditions}


def test_a_new_condition_gets_the_current_time_in_whole_seconds() -> None:
    (dated,) = merge((), [condition(ACCEPTED, "True", "Accepted")], NOW)
    assert dated.last_transition_time == NOW.replace(microsecond=0)


def test_the_transition_time_is_kept_if_only_reason_message_and_generation_change() -> None:
    before = merge((), [condition(READY, "False", "InvalidSpec", "a", observed_generation=1)], NOW)
    (after,) = merge(before, [condition(READY, "False", "NameConflict", "b", observed_generation=2)], LATER)
    assert after.last_transition_time == NOW.replace(microsecond=0)
    assert (after.reason, after.message, after.observed_generation) == ("NameConflict", "b", 2)


def test_the_transition_time_changes_with_the_status() -> None:
    before = merge((), [condition(READY, "False", "InvalidSpec")], NOW)
    (after,) = merge(before, [condition(READY, "True", "Ready")], LATER)
    assert after.last_transition_time == LATER.replace(microsecond=0)


def test_a_merge_of_the_same_conditions_changes_nothing() -> None:
    wanted = summarize([condition(ACCEPTED, "True", "Accepted"), condition(PROGRAMMED, "True", "Live")])
    before = merge((), wanted, NOW)
    assert merge(before, wanted, LATER) == before


def test_a_merge_drops_conditions_that_are_not_in_the_new_list() -> None:
    before = merge((), [condition(DEGRADED, "True", "ExtenderFailing")], NOW)
    assert merge(before, [condition(ACCEPTED, "True", "Accepted")], LATER)[0].type == ACCEPTED


@pytest.mark.parametrize(
    ("accepted", "programmed", "ready"),
    [
        ("True", "True", "True"),
        ("True", "False", "False"),
        ("False", "True", "False"),
        ("Unknown", "True", "Unknown"),
        ("True", "Unknown", "Unknown"),
        ("Unknown", "False", "False"),
        ("True", None, "Unknown"),
        (None, None, "Unknown"),
        (None, "False", "False"),
    ],
)
def test_ready_is_true_if_accepted_and_programmed_are_true(
    accepted: ConditionStatus | None, programmed: ConditionStatus | None, ready: ConditionStatus
) -> None:
    parts = [
        condition(type_, status, f"{type_}{status}")
        for type_, status in ((ACCEPTED, accepted), (PROGRAMMED, programmed))
        if status is not None
    ]
    assert by_type(summarize(parts))[READY].status == ready


def test_ready_has_the_reason_of_the_condition_that_is_not_true() -> None:
    parts = [
        condition(ACCEPTED, "False", "InvalidSpec", "spec.weights: no", observed_generation=3),
        condition(PROGRAMMED, "False", "LastGoodKept", "generation 2 is live", observed_generation=3),
    ]
    ready = by_type(summarize(parts))[READY]
    assert (ready.reason, ready.message, ready.observed_generation) == ("InvalidSpec", "spec.weights: no", 3)


def test_a_refused_policy_is_stalled() -> None:
    refused = by_type(summarize([condition(ACCEPTED, "False", "InvalidSpec", "spec.weights: no")]))[STALLED]
    assert (refused.status, refused.reason, refused.message) == ("True", "InvalidSpec", "spec.weights: no")


def test_a_policy_that_is_not_compiled_yet_is_not_stalled() -> None:
    parts = [condition(ACCEPTED, "True", "Accepted"), condition(PROGRAMMED, "False", "NotLeader")]
    assert by_type(summarize(parts))[STALLED].status == "False"


def test_the_condition_degraded_does_not_affect_the_condition_ready() -> None:
    parts = [
        condition(ACCEPTED, "True", "Accepted"),
        condition(PROGRAMMED, "True", "Live"),
        condition(DEGRADED, "True", "ExtenderFailing"),
    ]
    summary = by_type(summarize(parts))
    assert (summary[READY].status, summary[DEGRADED].status) == ("True", "True")
    assert summary[READY].last_transition_time == UNDATED


def test_summarize_does_not_change_conditions_that_it_has_summarized() -> None:
    once = summarize([condition(ACCEPTED, "True", "Accepted"), condition(PROGRAMMED, "True", "Live")])
    assert summarize(once) == once
