"""Statuses of policies: conditions, counts and the most frequent rejections, within the limits of the API."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.policy_status import MESSAGE_LENGTH, REJECTION_LENGTH, SchedulingPolicyStatus
from moorage.compilation.policy_warning import PolicyWarning
from moorage.controller.policy_report import SHOWN_WARNINGS, PolicyCounts, PolicyFindings, status_of
from moorage.controller.policy_state import PolicyRefusal, PolicyState
from moorage.framework.profile import CanaryShare, PolicyReference, Profile, ProfileSettings
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.degradation import Degradation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REFUSAL = PolicyRefusal("InvalidSpec", "spec.paused: must be true or false")


def profile(*, paused: bool = False, canary: CanaryShare | None = None) -> Profile:
    settings = ProfileSettings(paused=paused, canary=canary)
    return Profile(name="gold", queue_sort=PrioritySort(), settings=settings, policy=PolicyReference("gold", "u", 3))


def state(live: Profile | None, refusal: PolicyRefusal | None = None) -> PolicyState:
    return PolicyState(
        name="gold",
        uid="u",
        scheduler_name="gold",
        observed_generation=4,
        profile=live,
        refusal=refusal,
        spec=None if refusal else SchedulingPolicySpec(),
    )


def status(
    of: PolicyState, counts: PolicyCounts | None = None, degradations: tuple[Degradation, ...] = ()
) -> SchedulingPolicyStatus:
    return status_of(of, PolicyFindings(counts or PolicyCounts(), degradations), (), NOW)


@pytest.mark.parametrize(
    ("of", "conditions"),
    [
        (state(profile()), {"Accepted": "Accepted", "Programmed": "Live", "Degraded": "Healthy", "Ready": "Ready"}),
        (state(profile(paused=True)), {"Programmed": "Paused", "Ready": "Paused", "Stalled": "NotStalled"}),
        (state(profile(), REFUSAL), {"Programmed": "LastGoodKept", "Ready": "InvalidSpec", "Stalled": "InvalidSpec"}),
        (state(None, REFUSAL), {"Accepted": "InvalidSpec", "Programmed": "NotAccepted", "Ready": "InvalidSpec"}),
    ],
    ids=["live", "paused", "last-good-kept", "refused"],
)
def test_conditions_have_the_reason_for_the_state_of_the_policy(of: PolicyState, conditions: dict[str, str]) -> None:
    reasons = {condition.type: condition.reason for condition in status(of).conditions}
    assert {type_: reasons[type_] for type_ in conditions} == conditions


@pytest.mark.parametrize(
    ("paused", "message"),
    [
        (False, "takes 10 % of the pods of the policy batch"),
        (True, "the policy takes no pods of the policy batch, and pods with its own schedulerName wait"),
    ],
)
def test_the_condition_of_a_canary_says_which_pods_it_takes(*, paused: bool, message: str) -> None:
    canary = state(profile(paused=paused, canary=CanaryShare("batch", 10)))
    (programmed,) = (each for each in status(canary).conditions if each.type == "Programmed")
    assert message in programmed.message


def test_the_active_generation_is_the_generation_of_the_live_profile() -> None:
    found = status(state(profile(), REFUSAL))
    assert (found.observed_generation, found.active_generation) == (4, 3)


def test_the_condition_degraded_reports_several_degradations() -> None:
    found = status(state(profile()), degradations=(Degradation("A", "first"), Degradation("B", "second")))
    (degraded,) = [condition for condition in found.conditions if condition.type == "Degraded"]
    assert (degraded.status, degraded.reason, degraded.message) == ("True", "A", "first; second")


HARMLESS = Degradation("ExtenderFailing", "extender a fails")
FATAL = Degradation("ExtenderFailing", "extender b fails", ready="False")
UNVERIFIED = Degradation("ExtenderFailing", "extender c may work again", ready="Unknown")


@pytest.mark.parametrize(
    ("of", "degradations", "ready"),
    [
        (state(profile()), (HARMLESS,), ("True", "Ready", "")),
        (state(profile()), (HARMLESS, UNVERIFIED, FATAL), ("False", "ExtenderFailing", FATAL.message)),
        (state(profile()), (HARMLESS, UNVERIFIED), ("Unknown", "ExtenderFailing", UNVERIFIED.message)),
        (state(profile(), REFUSAL), (FATAL,), ("False", "InvalidSpec", REFUSAL.message)),
    ],
    ids=["ignorable", "needed", "not-called-since", "refused-anyway"],
)
def test_a_policy_is_not_ready_while_an_extender_that_its_pods_need_fails(
    of: PolicyState, degradations: tuple[Degradation, ...], ready: tuple[str, str, str]
) -> None:
    (found,) = [each for each in status(of, degradations=degradations).conditions if each.type == "Ready"]
    assert (found.status, found.reason, found.message) == ready
    assert found.observed_generation == 4


def conditions_with(of: PolicyState, *warnings: PolicyWarning) -> dict[str, tuple[str, str, str]]:
    found = status_of(of, PolicyFindings(warnings=warnings), (), NOW).conditions
    return {each.type: (each.status, each.reason, each.message) for each in found}


def test_the_condition_warnings_reports_warnings_and_no_other_condition_changes() -> None:
    warnings = (PolicyWarning("ShadowedRow", "a"), PolicyWarning("NoEffect", "b"))
    warned, clean = conditions_with(state(profile()), *warnings), conditions_with(state(profile()))
    assert warned.pop("Warnings") == ("True", "ShadowedRow", "a; b")
    assert clean.pop("Warnings") == ("False", "NoWarnings", "")
    assert warned == clean
    assert conditions_with(state(profile(), REFUSAL))["Warnings"][:2] == ("Unknown", "NotAccepted")


def test_many_warnings_are_counted_instead_of_listed() -> None:
    warnings = [PolicyWarning("NoEffect", f"w{index}") for index in range(SHOWN_WARNINGS + 5)]
    _, _, message = conditions_with(state(profile()), *warnings)["Warnings"]
    assert message.endswith(f"w{SHOWN_WARNINGS - 1}; and 5 more")


def test_the_three_most_frequent_rejections_are_listed_while_pods_are_unschedulable() -> None:
    rejections = {"rare": 1, "frequent": 9, "b": 5, "a": 5}
    counts = PolicyCounts(unschedulable=1, rejections=rejections)
    assert status(state(profile()), counts).top_rejections == ("9 frequent", "5 a", "5 b")
    assert status(state(profile()), PolicyCounts(rejections=rejections)).top_rejections == ()


def test_texts_are_shortened_if_they_exceed_the_limits_of_the_api() -> None:
    counts = PolicyCounts(unschedulable=1, rejections={"x" * 5000: 1})
    found = status(state(None, PolicyRefusal("InvalidSpec", "y" * 50_000)), counts)
    assert [len(text) for text in found.top_rejections] == [REJECTION_LENGTH]
    assert found.top_rejections[0].endswith("x ...")
    assert max(len(condition.message) for condition in found.conditions) == MESSAGE_LENGTH
