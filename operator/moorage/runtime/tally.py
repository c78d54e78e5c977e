"""Counts bindings and failures for each profile; the policy's status shows the numbers.

The numbers of a profile start at 0 when a new generation of its policy goes live.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.framework.profile import Profile
from moorage.runtime.shadow_tally import ShadowTally


@dataclass(slots=True)
class ProfileTally:
    """The numbers of one profile."""

    generation: int = 0
    """The policy's generation to which the numbers belong."""
    bound: int = 0
    """Pods that were bound."""
    failed: int = 0
    """Bindings that failed."""
    failures_in_a_row: int = 0
    """Bindings that failed since the last success."""
    last_failure: str = ""
    """Why the last failed binding failed."""
    errors_in_a_row: int = 0
    """Attempts that ended in an error since the last attempt without an error."""
    last_error: str = ""
    last_bound_time: float | None = None
    """In seconds since the epoch."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """Number of rejected nodes by reason and field of the policy, for the last unschedulable pod."""
    shadow: ShadowTally = field(default_factory=ShadowTally)
    """The decisions of a policy in mode Shadow."""


class Tally:
    """The numbers of all profiles. A policy that is created again has a new uid, so its numbers start at 0."""

    def __init__(self) -> None:
        """Start with no counts."""
        self._by_profile: dict[tuple[str, str], ProfileTally] = {}

    def of(self, profile: Profile) -> ProfileTally:
        """Return the numbers of the profile, for the newest generation of its policy."""
        key, generation = _key(profile), profile.policy.generation if profile.policy else 0
        tally = self._by_profile.get(key)
        if tally is None or tally.generation < generation:
            tally = self._by_profile[key] = ProfileTally(generation)
        return tally

    def keep(self, profiles: Iterable[Profile]) -> None:
        """Forget the numbers of all other profiles."""
        kept = {_key(profile) for profile in profiles}
        self._by_profile = {key: tally for key, tally in self._by_profile.items() if key in kept}


def rejections_by_field(diagnosis: Diagnosis, profile: Profile) -> dict[str, int]:
    """Return the number of rejected nodes by reason and field of the policy, such as `reason (filters.zones)`."""
    if diagnosis.pre_filter.reasons:
        return {diagnosis.pre_filter.message: diagnosis.total_nodes}
    fields = profile.policy.filter_fields if profile.policy else {}
    return {
        f"{reason} ({fields.get(cause, cause)})" if cause else reason: count
        for (reason, cause), count in diagnosis.causes.items()
    }


def _key(profile: Profile) -> tuple[str, str]:
    return profile.name, profile.policy.uid if profile.policy else ""
