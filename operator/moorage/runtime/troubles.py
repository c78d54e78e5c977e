"""Troubles: failures of something that a policy relies on, as its status reports them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failure of something that the policy relies on: the reason, and a sentence with the next step."""

    reason: str
    message: str
