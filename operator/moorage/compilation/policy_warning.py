"""A warning about a valid policy: one of its parts has no effect, or probably not the intended effect."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyWarning:
    """One warning for the condition Warnings: a reason, and a sentence that names the field."""

    reason: str
    message: str
