"""A part of a policy that has no effect, or hardly the wanted one, although the policy is valid."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyWarning:
    """One warning for the condition Warnings: its reason, and a sentence with the field."""

    reason: str
    message: str
