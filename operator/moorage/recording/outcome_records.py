"""Writes outcomes as plain values that a replay compares: two outcomes are the same if their values are equal."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from moorage.cluster.intents import BindVolume, SelectNode
from moorage.engine.outcomes import (
    AskAboutVictims,
    Bind,
    CallExtenders,
    Held,
    Misnamed,
    Outcome,
    SchedulingFailed,
    ShadowDecision,
    Skipped,
    Unschedulable,
)

BIND = "Bind"
UNSCHEDULABLE = "Unschedulable"
DECISIONS = frozenset({BIND, UNSCHEDULABLE, "SchedulingFailed"})
"""The kinds of outcomes that decide about a pod; the other kinds only report something, or ask an extender."""
OUTCOME_FORMAT = "1"
"""The version of the values of outcomes; other values need another version."""
KEY_FIELDS = 3
"""Each value begins with the kind of the outcome, the key of the pod and its uid."""

OutcomeValue = list[Any]


def write_outcome(outcome: Outcome | None) -> OutcomeValue | None:
    """Return the value of an outcome."""
    if outcome is None:
        return None
    return [type(outcome).__name__, outcome.pod.key, outcome.pod.uid, *_details(outcome)]


def describe_outcome(value: OutcomeValue | None) -> str:
    """Return the text of an outcome's value for users, without the pod."""
    if value is None:
        return "no decision"
    kind, details = str(value[0]), value[KEY_FIELDS:]
    match kind, details:
        case "Bind", [node_name, attempts, *_]:
            return f"node {node_name} (attempt {attempts})"
        case "Unschedulable", [message, nominated, victims, *_]:
            return f"no node: {message}" + (f" [nominated to {nominated}, {len(victims)} victims]" if nominated else "")
        case "SchedulingFailed", [message, *_]:
            return f"an error: {message}"
        case _:
            return " ".join([kind, *(str(each) for each in details if each != "")])


def node_of(value: OutcomeValue | None) -> str:
    """Return the node that an outcome chooses; empty for other outcomes."""
    return str(value[KEY_FIELDS]) if value is not None and value[0] == BIND else ""


def _details(outcome: Outcome) -> list[Any]:  # noqa: PLR0911 - one for each kind
    match outcome:
        case Bind():
            return [outcome.node_name, outcome.attempts, [_intent(each) for each in outcome.intents]]
        case Unschedulable():
            uids = [[pod.uid for pod in pods] for pods in (outcome.victims, outcome.displaced)]
            return [outcome.message, outcome.nominated_node_name, *uids, outcome.attempts]
        case SchedulingFailed():
            return [outcome.message, outcome.attempts]
        case CallExtenders():
            names = outcome.node_names
            return [f"{len(names)} nodes", crc32("\n".join(names).encode())]
        case AskAboutVictims():
            found = outcome.candidates
            return [[each.node_name, [pod.uid for pod in each.victims], each.violations] for each in found]
        case Held():
            return [outcome.reason.value, outcome.message]
        case Misnamed():
            return [outcome.similar_name]
        case Skipped():
            return [outcome.message]
        case ShadowDecision():
            choice = [outcome.profile.name, outcome.actual_node_name, outcome.node_name]
            return [*choice, outcome.verdict.value, outcome.message]


def _intent(intent: object) -> list[Any]:
    assert isinstance(intent, BindVolume | SelectNode), intent
    return [type(intent).__name__, *(getattr(intent, name) for name in type(intent).__slots__)]
