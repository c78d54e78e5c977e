"""What happened to each profile's pods since its present generation went live: the numbers of a policy's status."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.framework.profile import Profile


@dataclass(slots=True)
class ProfileTally:
    """One profile's numbers."""

    generation: int = 0
    """Of the policy; a new one begins at 0."""
    bound: int = 0
    failed: int = 0
    """Binds that failed."""
    failures_in_a_row: int = 0
    """Binds that failed since the last one that did not."""
    errors_in_a_row: int = 0
    """Attempts that ended in errors since the last one that ended otherwise."""
    last_error: str = ""
    last_bound_time: float | None = None
    """Seconds since the epoch."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """How many nodes gave each reason, when a pod last fitted nowhere."""


class Tally:
    """The numbers of all profiles; a policy that was deleted and made anew is another one."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._by_profile: dict[tuple[str, str], ProfileTally] = {}

    def of(self, profile: Profile) -> ProfileTally:
        """Return the numbers of the profile's present generation."""
        policy = profile.policy
        key, generation = (profile.name, policy.uid if policy else ""), policy.generation if policy else 0
        tally = self._by_profile.get(key)
        if tally is None or tally.generation < generation:
            tally = self._by_profile[key] = ProfileTally(generation)
        return tally
