"""Builds and merges conditions (metav1.Condition). The time is an argument.

The rules come from the Kubernetes API conventions and kstatus. `lastTransitionTime` changes only with the status. Each
condition has the generation that it describes. Ready sums up the other conditions. A fault that only the user can
correct also sets Stalled to True, so that `helm install --wait` and Flux stop waiting.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from moorage.api.policy_status import MESSAGE_LENGTH, Condition
from moorage.outside_text import one_line

ConditionStatus = Literal["True", "False", "Unknown"]

ACCEPTED = "Accepted"
"""The spec of the observed generation is valid."""
PROGRAMMED = "Programmed"
"""The observed generation schedules pods."""
READY = "Ready"
"""The policy is Accepted and Programmed, and no required extender fails."""
DEGRADED = "Degraded"
"""The policy is live, but a part that it depends on fails."""
WARNINGS = "Warnings"
"""Parts of the valid policy have no effect, or name nodes that do not exist. This condition does not affect Ready."""
STALLED = "Stalled"
"""The policy cannot become Ready until its spec changes, so tools can stop waiting for Ready."""

UNDATED = datetime.fromtimestamp(0, UTC)
"""The time of a condition before `merge` sets it."""


def condition(
    type_: str, status: ConditionStatus, reason: str, message: str = "", *, observed_generation: int | None = None
) -> Condition:
    """Return a condition without a time, which `merge` sets later. Cut the message to the API's limit."""
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=one_line(message, MESSAGE_LENGTH),
        observed_generation=observed_generation,
        last_transition_time=UNDATED,
    )


def merge(before: Iterable[Condition], wanted: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    """Return the wanted conditions with their times.

    A condition keeps the time that it has in `before` if its status is the same; otherwise its time is `now`.
    Conditions in `before` whose type is not wanted are dropped. Times are whole seconds, as in metav1.Time.
    """
    earlier = {one.type: one for one in before}
    return tuple(_dated(one, earlier.get(one.type), now.replace(microsecond=0)) for one in wanted)


def _dated(wanted: Condition, earlier: Condition | None, now: datetime) -> Condition:
    unchanged = earlier is not None and earlier.status == wanted.status
    since = earlier.last_transition_time if earlier is not None and unchanged else now
    return wanted.model_copy(update={"last_transition_time": since})


def summarize(parts: Sequence[Condition], obstacle: Condition | None = None) -> tuple[Condition, ...]:
    """Return the conditions, followed by Ready and Stalled.

    If Accepted or Programmed is False, Ready is False, with the reason and message of the first False condition. If
    Accepted or Programmed is Unknown or missing, Ready is Unknown. Otherwise Ready is `obstacle`; without an obstacle,
    Ready is True. If Accepted is False, Stalled is True, because only the author can correct the policy.
    """
    by_type = {one.type: one for one in parts}
    needed = [by_type.get(ACCEPTED), by_type.get(PROGRAMMED)]
    generation = max((one.observed_generation or 0 for one in parts), default=0) or None
    ready = _ready(needed, generation)
    if ready.status == "True" and obstacle is not None:
        ready = obstacle
    accepted = by_type.get(ACCEPTED)
    refused = accepted is not None and accepted.status == "False"
    stalled = condition(
        STALLED,
        "True" if refused else "False",
        accepted.reason if accepted and refused else "NotStalled",
        accepted.message if accepted and refused else "",
        observed_generation=generation,
    )
    return (*(one for one in parts if one.type not in {READY, STALLED}), ready, stalled)


def _ready(needed: Sequence[Condition | None], generation: int | None) -> Condition:
    for status in ("False", "Unknown"):
        for one in needed:
            if one is not None and one.status == status:
                return condition(READY, one.status, one.reason, one.message, observed_generation=generation)
    if None in needed:
        message = "this generation is not compiled yet"
        return condition(READY, "Unknown", "Pending", message, observed_generation=generation)
    return condition(READY, "True", READY, observed_generation=generation)
