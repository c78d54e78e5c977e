"""Degradations: failures of parts that a policy depends on. The policy's condition Degraded shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ReadyStatus = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Degradation:
    """A failure of a part that a policy depends on: the condition's reason, and a message with the next step."""

    reason: str
    message: str
    subject: str = ""
    """The name of the part in error messages, such as an extender's address; empty if it has none."""
    ready: ReadyStatus = "True"
    """The status of the policy's condition Ready. True: pods are scheduled in spite of the failure. False: no pods are
    scheduled. Unknown: only the next pod can show whether the part works again."""
