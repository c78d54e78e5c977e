"""Bookkeeping of metav1.Condition, pure: what was said before, what is to be said, and now, make what is said next.

The rules are the API conventions' and kstatus': `lastTransitionTime` moves only when the status does, every condition
names the generation it speaks of, Ready sums up, and a fault that only the user can mend is also Stalled, so that
`helm install --wait` and Flux stop waiting for it.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from moorage.api.policy_status import MESSAGE_LENGTH, Condition, shortened

ConditionStatus = Literal["True", "False", "Unknown"]

ACCEPTED = "Accepted"
"""The policy can be used as it was written."""
PROGRAMMED = "Programmed"
"""Decisions are made with this generation."""
READY = "Ready"
"""Accepted and Programmed."""
DEGRADED = "Degraded"
"""The policy is in force, but something that it relies on fails."""
STALLED = "Stalled"
"""Nothing will change until the user changes something; for tools that wait for Ready."""

UNDATED = datetime.fromtimestamp(0, UTC)
"""The time of a condition that `merge` has not dated."""


def condition(
    type_: str, status: ConditionStatus, reason: str, message: str = "", *, observed_generation: int | None = None
) -> Condition:
    """Say something, with no time yet: `merge` dates it."""
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=shortened(message, MESSAGE_LENGTH),
        observed_generation=observed_generation,
        last_transition_time=UNDATED,
    )


def merge(before: Iterable[Condition], wanted: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    """Return the wanted conditions, each dated: as before where its status is the same, now where it changed.

    Types that are no longer wanted are gone. Whole seconds, as metav1.Time has them.
    """
    earlier = {one.type: one for one in before}
    return tuple(_dated(one, earlier.get(one.type), now.replace(microsecond=0)) for one in wanted)


def _dated(wanted: Condition, earlier: Condition | None, now: datetime) -> Condition:
    unchanged = earlier is not None and earlier.status == wanted.status
    since = earlier.last_transition_time if earlier is not None and unchanged else now
    return wanted.model_copy(update={"last_transition_time": since})


def summarize(parts: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the conditions with Ready, the sum of Accepted and Programmed, and with Stalled.

    Ready is False as soon as one of the two is, and then speaks with its reason and message; Unknown while one of them
    is unknown or missing. A policy that is not accepted is Stalled: only its author can go on.
    """
    by_type = {one.type: one for one in parts}
    needed = [by_type.get(ACCEPTED), by_type.get(PROGRAMMED)]
    generation = max((one.observed_generation or 0 for one in parts), default=0) or None
    ready = _ready(needed, generation)
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
        return condition(READY, "Unknown", "Pending", "not programmed yet", observed_generation=generation)
    return condition(READY, "True", READY, observed_generation=generation)
