"""What a policy's status says, put together from what its verdict, its profile's numbers and its helpers' health are.

Pure: everything comes as an argument, the time included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from moorage.api.conditions import ACCEPTED, DEGRADED, PROGRAMMED, condition, merge, summarize
from moorage.api.policy_status import Condition, PodCounts, SchedulingPolicyStatus
from moorage.controller.policies import PolicyState
from moorage.runtime.troubles import Trouble

TOP_REJECTIONS = 3
"""How many reasons a status shows; the pods' own conditions have them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What is counted for the pods of one policy."""

    pending: int = 0
    unschedulable: int = 0
    bound: int = 0
    failed: int = 0
    last_bound_time: datetime | None = None
    rejections: Mapping[str, int] | None = None
    """How many nodes gave each reason when a pod last fitted nowhere."""


def status_of(
    verdict: PolicyState, numbers: Numbers, troubles: Sequence[Trouble], before: Sequence[Condition], now: datetime
) -> dict[str, Any]:
    """Return the status as JSON has it; `before` are the conditions that it had until now."""
    profile = verdict.profile
    wanted = summarize(
        [
            _accepted(verdict),
            _programmed(verdict),
            _degraded(verdict, troubles),
        ]
    )
    status = SchedulingPolicyStatus(
        scheduler_name=verdict.scheduler_name,
        observed_generation=verdict.observed_generation,
        active_generation=profile.policy.generation if profile and profile.policy else None,
        conditions=merge(before, wanted, now),
        pods=PodCounts(
            pending=numbers.pending,
            unschedulable=numbers.unschedulable,
            bound=numbers.bound,
            failed=numbers.failed,
        ),
        last_bound_time=numbers.last_bound_time,
        top_rejections=_top(numbers) if numbers.unschedulable else (),
    )
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)


def _accepted(verdict: PolicyState) -> Condition:
    generation, refusal = verdict.observed_generation, verdict.refusal
    if refusal:
        return condition(ACCEPTED, "False", refusal.reason, refusal.message, observed_generation=generation)
    return condition(ACCEPTED, "True", "Accepted", observed_generation=generation)


def _programmed(verdict: PolicyState) -> Condition:
    generation, profile = verdict.observed_generation, verdict.profile
    if verdict.refusal and profile and profile.policy:
        message = f"generation {profile.policy.generation}, the last good one, stays in force"
        return condition(PROGRAMMED, "False", "LastGoodKept", message, observed_generation=generation)
    if verdict.refusal or profile is None:
        return condition(
            PROGRAMMED, "False", "NotAccepted", "no pod is scheduled by this policy", observed_generation=generation
        )
    if profile.settings.paused:
        message = "spec.paused is true: pods wait, nothing is bound"
        return condition(PROGRAMMED, "False", "Paused", message, observed_generation=generation)
    return condition(PROGRAMMED, "True", "Live", observed_generation=generation)


def _degraded(verdict: PolicyState, troubles: Sequence[Trouble]) -> Condition:
    generation = verdict.observed_generation
    if troubles:
        message = "; ".join(trouble.message for trouble in troubles)
        return condition(DEGRADED, "True", troubles[0].reason, message, observed_generation=generation)
    return condition(DEGRADED, "False", "Healthy", observed_generation=generation)


def _top(numbers: Numbers) -> tuple[str, ...]:
    rejections = numbers.rejections or {}
    ranked = sorted(rejections.items(), key=lambda item: (-item[1], item[0]))
    return tuple(f"{count} {reason}" for reason, count in ranked[:TOP_REJECTIONS])
