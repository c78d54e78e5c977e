"""Statuses: "does not fit" is a value, not an exception.

What each code does to the pod afterwards is said at the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """A plugin's answer; the values are kube-scheduler's words (`framework.Code.String`)."""

    SUCCESS = "Success"
    SKIP = "Skip"  # PreFilter, PreScore: this plugin has nothing to say in this cycle
    UNSCHEDULABLE = "Unschedulable"  # preemption may help; the pod waits for an event its rejecters care for
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"  # the same, but preemption cannot help
    PENDING = "Pending"  # held by a plugin on purpose; leaves the queue's waiting room without backoff
    WAIT = "Wait"  # Permit only
    ERROR = "Error"  # a fault, not a verdict: error backoff

    @property
    def rejects(self) -> bool:
        """Whether the pod is turned away by a verdict (and not by a fault)."""
        return self in _REJECTING


_REJECTING = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A code, the reasons people read, and the plugin that gave them (filled in by the framework)."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the cycle goes on."""
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """The reasons as one sentence fragment, joined as kube-scheduler joins them."""
        return ", ".join(self.reasons)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """Turn the pod away; preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Turn the pod away; preemption cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(message: str) -> Status:
    """Say that the cycle failed."""
    return Status(Code.ERROR, (message,))
