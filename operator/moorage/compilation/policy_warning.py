"""A warning about a valid policy: a part of it has no effect, or probably not the intended one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyWarning:
    """One warning for the condition Warnings: its reason, and a sentence with the field."""

    reason: str
    message: str
