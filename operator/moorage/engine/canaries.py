"""Canaries: policies that take a share of the pods of another policy.

The engine gives each of these pods the schedulerName of the canary. So the queue, the counts and the metrics treat the
pod as a pod of the canary. `Pod.canary_of` keeps the schedulerName of the pod's spec.
"""

from collections.abc import Callable, Mapping
from zlib import crc32

from msgspec.structs import replace

from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

HASHES = 1 << 32
"""The number of possible hashes."""


class Canaries:
    """The live canaries, by the schedulerName of the policy whose pods they share."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """Read from `profiles`, a live mapping by schedulerName."""
        self._profiles = profiles
        self._by_base: dict[str, Profile] = {}

    def update(self) -> list[str]:
        """Read the profiles again. Return the schedulerNames whose pods may have moved to or from a canary.

        The names are sorted, because their order is the order in which pods return to the queue.
        """
        names = {profile.policy.name: name for name, profile in self._profiles.items() if profile.policy}
        found: dict[str, Profile] = {}
        for profile in sorted(self._profiles.values(), key=_policy_name):
            base = names.get(profile.settings.canary.of) if profile.settings.canary else None
            if base and not profile.settings.paused:
                found.setdefault(base, profile)
        before, self._by_base = self._by_base, found
        changed = {base for base in before.keys() | found.keys() if before.get(base) is not found.get(base)}
        canaries = (canaries[base].name for canaries in (before, found) for base in changed & canaries.keys())
        return sorted({*changed, *canaries})

    @property
    def names(self) -> list[str]:
        """The schedulerNames of the canaries and of the policies whose pods they take, sorted."""
        return sorted({*self._by_base, *(canary.name for canary in self._by_base.values())})

    def route(self, pod: Pod, allows: Callable[[Profile, Pod], bool]) -> Pod:
        """Return the pod with the schedulerName of the canary that takes it, or with its own schedulerName.

        A canary takes only pods whose namespace it allows. `allows` returns whether a profile allows the namespace of
        a pod.
        """
        if not self._by_base and not pod.canary_of:
            return pod
        base = pod.canary_of or pod.scheduler_name
        canary = self._by_base.get(base)
        name = canary.name if canary and _is_in_share(pod, canary) and allows(canary, pod) else base
        if name == pod.scheduler_name:
            return pod
        return replace(pod, scheduler_name=name, canary_of="" if name == base else base)

    def fault_of(self, profile: Profile) -> str:
        """Return why a canary takes no pods; empty if the profile takes pods or is not a canary."""
        canary = profile.settings.canary
        if (
            canary is None
            or profile.settings.paused
            or any(each.name == profile.name for each in self._by_base.values())
        ):
            return ""
        base = next((each for each in self._profiles.values() if _policy_name(each) == canary.of), None)
        if base is None:
            return f"no live policy has the name {canary.of}"
        # The controller may know a profile that the scheduling loop has not applied yet; then there is no canary.
        other = self._by_base.get(base.name)
        return f"the policy {_policy_name(other)} is a canary of {canary.of} already" if other else ""


def _is_in_share(pod: Pod, canary: Profile) -> bool:
    """Return whether a pod is in the share of a canary. A share has all pods of an owner, or none of them.

    If the percentage grows, all pods in the share stay in it.
    """
    owner = pod.shape.owner
    position = crc32((owner.uid if owner else pod.uid).encode()) / HASHES
    return canary.settings.canary is not None and position * 100 < canary.settings.canary.percent


def _policy_name(profile: Profile) -> str:
    return profile.policy.name if profile.policy else ""
