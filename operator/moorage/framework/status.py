"""Statuses: a plugin returns "the pod does not fit" as a value and does not raise an exception.

The comment at each code says what the scheduler does with the pod.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """The result of a plugin call; the values are kube-scheduler's words (`framework.Code.String`)."""

    SUCCESS = "Success"
    SKIP = "Skip"  # PreFilter, PreScore: leave this plugin out of the cycle
    UNSCHEDULABLE = "Unschedulable"  # preemption may help; the pod waits for an event that may change the result
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"  # like UNSCHEDULABLE, but preemption cannot help
    PENDING = "Pending"  # the plugin holds the pod; an event in the plugin's interests requeues the pod without backoff
    WAIT = "Wait"  # Permit only
    ERROR = "Error"  # the cycle failed; the pod is retried after a backoff

    @property
    def rejects(self) -> bool:
        """Whether the plugin rejected the pod; an error is not a rejection."""
        return self in _REJECTING


_REJECTING = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A code, the reasons for users, and the name of the plugin that rejects the pod. The framework sets the name."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the code is SUCCESS. SKIP is not a success."""
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """The reasons in one text, separated by commas."""
        return ", ".join(self.reasons)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """Return a rejection that preemption may resolve."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Return a rejection that preemption cannot resolve."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(message: str) -> Status:
    """Return the status of a failed cycle."""
    return Status(Code.ERROR, (message,))
