"""Degradations: failures of parts that a policy depends on, for its condition Degraded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Degradation:
    """A failure of a part that a policy depends on: the condition's reason, and a message with the next step."""

    reason: str
    message: str
