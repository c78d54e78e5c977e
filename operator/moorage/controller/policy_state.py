"""Values that the policy store returns: the state of each policy, and the changes for the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.framework.profile import CanaryShare, Profile


@dataclass(frozen=True, slots=True)
class PolicyRefusal:
    """Why a policy is not accepted: the condition's reason, and a message with the next step."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The state of one policy, for its status, events and log lines."""

    name: str
    uid: str
    scheduler_name: str
    observed_generation: int
    profile: Profile | None
    """The live profile. It belongs to an older generation while `observed_generation` is refused."""
    refusal: PolicyRefusal | None
    """None if the policy is accepted."""
    conditions: tuple[Mapping[str, Any], ...] = ()
    """The conditions of the object when the store first saw it."""
    spec: SchedulingPolicySpec | None = None
    """The spec of the observed generation; None if it is refused."""

    @property
    def owns_name(self) -> bool:
        """Whether the pods with `scheduler_name` belong to this policy."""
        return self.refusal is None or self.refusal.reason not in {"NameConflict", "NameNotAllowed"}

    @property
    def live_generation(self) -> int | None:
        """The generation of the live profile."""
        return self.profile.policy.generation if self.profile and self.profile.policy else None

    @property
    def shadow_of(self) -> str:
        """The schedulerName that the live profile follows in mode Shadow; empty in mode Active."""
        return self.profile.settings.shadow_of if self.profile else ""

    @property
    def canary(self) -> CanaryShare | None:
        """The share of another policy's pods that the live profile takes; None if it is no canary."""
        return self.profile.settings.canary if self.profile else None

    @property
    def is_paused(self) -> bool:
        """Whether the live profile binds no pods, because `spec.paused` is true."""
        return self.profile is not None and self.profile.settings.paused


@dataclass(frozen=True, slots=True)
class PolicyChanges:
    """The effects of one or several events: on the engine's profiles, and on the states of policies."""

    profiles: tuple[Profile, ...] = ()
    """Profiles that are new, or that replace the profile with the same schedulerName."""
    removed: tuple[str, ...] = ()
    """schedulerNames that no policy has any more."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Messages by schedulerName, for policies that are refused and have no last good profile."""
    states: tuple[PolicyState, ...] = ()
    """States that are new or different."""
    deleted: tuple[str, ...] = ()
    """Names of deleted policies."""
