"""Builds the status of a policy from its state, its pod counts and its degradations. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from moorage.api.conditions import ACCEPTED, DEGRADED, PROGRAMMED, READY, WARNINGS, condition, merge, summarize
from moorage.api.policy_status import (
    REJECTION_LENGTH,
    Condition,
    PodCounts,
    SchedulingPolicyStatus,
    ShadowCounts,
)
from moorage.compilation.policy_warning import PolicyWarning
from moorage.controller.policy_state import PolicyState
from moorage.outside_text import one_line
from moorage.runtime.degradation import Degradation, ReadyStatus

SHOWN_WARNINGS = 10
"""The maximum number of warnings in a condition's message. `kubectl describe` shows the message in one line."""
NOT_READY: tuple[ReadyStatus, ...] = ("False", "Unknown")
TOP_REJECTIONS = 3
"""The maximum number of reasons in a status. The conditions of the pods have all reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCounts:
    """Counts of the pods of one policy."""

    pending: int = 0
    unschedulable: int = 0
    not_allowed: int = 0
    bound: int = 0
    failed: int = 0
    last_bound_time: datetime | None = None
    rejections: Mapping[str, int] | None = None
    """The number of nodes by reason, from the last attempt in which a pod fitted no node."""
    shadow: ShadowCounts | None = None
    """The decisions in mode Shadow; None in mode Active."""


@dataclass(frozen=True, slots=True)
class PolicyFindings:
    """The pod counts, failures and warnings of a policy. The state of the policy does not contain them."""

    counts: PolicyCounts = PolicyCounts()
    degradations: Sequence[Degradation] = ()
    warnings: Sequence[PolicyWarning] = ()


def status_of(
    state: PolicyState, findings: PolicyFindings, before: Sequence[Condition], now: datetime
) -> SchedulingPolicyStatus:
    """Return the status. `before` are the last conditions; a condition keeps its time if its status has not changed."""
    counts, degradations = findings.counts, findings.degradations
    parts = [_accepted(state), _programmed(state), _degraded(state, degradations), _warnings(state, findings.warnings)]
    wanted = summarize(parts, _obstacle(state, degradations))
    return SchedulingPolicyStatus(
        scheduler_name=state.scheduler_name,
        observed_generation=state.observed_generation,
        active_generation=state.live_generation,
        conditions=merge(before, wanted, now),
        pods=PodCounts(
            pending=counts.pending,
            unschedulable=counts.unschedulable,
            not_allowed=counts.not_allowed,
            bound=counts.bound,
            failed=counts.failed,
        ),
        shadow=counts.shadow,
        last_bound_time=counts.last_bound_time,
        top_rejections=_top_rejections(counts) if counts.unschedulable else (),
    )


def _accepted(state: PolicyState) -> Condition:
    generation, refusal = state.observed_generation, state.refusal
    if refusal:
        return condition(ACCEPTED, "False", refusal.reason, refusal.message, observed_generation=generation)
    return condition(ACCEPTED, "True", "Accepted", observed_generation=generation)


def _programmed(state: PolicyState) -> Condition:
    generation = state.observed_generation
    if state.refusal and state.live_generation is not None:
        message = f"generation {state.live_generation}, the last accepted one, stays live; correct the spec"
        return condition(PROGRAMMED, "False", "LastGoodKept", message, observed_generation=generation)
    if state.refusal or state.profile is None:
        message = "the policy schedules no pods; the condition Accepted has the reason"
        return condition(PROGRAMMED, "False", "NotAccepted", message, observed_generation=generation)
    if state.shadow_of:
        message = (
            f"decides for the pods of schedulerName {state.shadow_of}, and binds none; status.shadow has the counts"
        )
        return condition(PROGRAMMED, "True", "Shadow", message, observed_generation=generation)
    if state.is_paused:
        message = "spec.paused is true: pods wait, and none is bound; set it to false to continue"
        if state.canary is not None:
            message = (
                f"spec.paused is true: the policy takes no pods of the policy {state.canary.of}, and pods with its own "
                "schedulerName wait; set it to false to continue"
            )
        return condition(PROGRAMMED, "False", "Paused", message, observed_generation=generation)
    if state.canary is not None:
        message = f"takes {state.canary.percent} % of the pods of the policy {state.canary.of}"
        return condition(PROGRAMMED, "True", "Canary", message, observed_generation=generation)
    return condition(PROGRAMMED, "True", "Live", observed_generation=generation)


def _degraded(state: PolicyState, degradations: Sequence[Degradation]) -> Condition:
    generation = state.observed_generation
    if degradations:
        message = "; ".join(degradation.message for degradation in degradations)
        return condition(DEGRADED, "True", degradations[0].reason, message, observed_generation=generation)
    return condition(DEGRADED, "False", "Healthy", observed_generation=generation)


def _warnings(state: PolicyState, warnings: Sequence[PolicyWarning]) -> Condition:
    generation = state.observed_generation
    if state.spec is None:
        message = "the policy is not accepted; the condition Accepted has the reason"
        return condition(WARNINGS, "Unknown", "NotAccepted", message, observed_generation=generation)
    if not warnings:
        return condition(WARNINGS, "False", "NoWarnings", observed_generation=generation)
    sentences = [warning.message for warning in warnings[:SHOWN_WARNINGS]]
    if len(warnings) > SHOWN_WARNINGS:
        sentences.append(f"and {len(warnings) - SHOWN_WARNINGS} more")
    return condition(WARNINGS, "True", warnings[0].reason, "; ".join(sentences), observed_generation=generation)


def _obstacle(state: PolicyState, degradations: Sequence[Degradation]) -> Condition | None:
    """Return the condition Ready with the failures that prevent scheduling; None if no failure prevents scheduling."""
    for status in NOT_READY:
        if found := [degradation for degradation in degradations if degradation.ready == status]:
            message = "; ".join(degradation.message for degradation in found)
            return condition(READY, status, found[0].reason, message, observed_generation=state.observed_generation)
    return None


def _top_rejections(counts: PolicyCounts) -> tuple[str, ...]:
    ranked = sorted((counts.rejections or {}).items(), key=lambda item: (-item[1], item[0]))
    return tuple(one_line(f"{count} {reason}", REJECTION_LENGTH) for reason, count in ranked[:TOP_REJECTIONS])
