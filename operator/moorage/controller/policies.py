"""PolicyStore: all policies of the cluster, and the live profile of each schedulerName.

    a policy compiles          -> its profile becomes live, if no older policy and no configuration file has the name
    a policy does not compile  -> its last good profile stays live; without one, the pods of the policy wait
    a policy is deleted        -> its profile is removed; the next policy of the schedulerName becomes live

If several policies have one schedulerName, the oldest policy gets the name (by creationTimestamp, then by name). The
others are refused with NameConflict. The store is pure: it takes objects, and returns states and changes. The time for
an event depends only on the policies with the same schedulerName, so that thousands of policies can start at once.
"""

from __future__ import annotations

import logging
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from moorage.api.policy_size import MAX_SPEC_BYTES, spec_bytes
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.v1alpha1 import SchedulingPolicy, parse_policy
from moorage.controller.policy_room import PolicyRoom
from moorage.controller.policy_state import PolicyChanges, PolicyRefusal, PolicyState
from moorage.errors import ConfigurationError, InvalidPolicy, PolicyNotAllowed, UnknownPlugin, summary_of
from moorage.framework.profile import Profile

logger = logging.getLogger(__name__)

Manifest = Mapping[str, Any]
"""A SchedulingPolicy as decoded JSON."""


@dataclass(slots=True, eq=False)
class _KnownPolicy:
    """The last version of a policy that the store received, and the policy's last good profile."""

    name: str
    uid: str
    created: datetime
    scheduler_name: str
    conditions: tuple[Mapping[str, Any], ...]
    name_refusal: str = ""
    """The reason why no policy may have this schedulerName; empty if a policy may have it."""
    generation: int = -1
    lacks_room: bool = False
    """Whether `generation` was refused because of the limits on all policies. The store compiles it again at each
    list."""
    refusal: PolicyRefusal | None = None
    profile: Profile | None = None
    spec: SchedulingPolicySpec | None = None
    """The spec of `generation`; None if it is refused."""

    @property
    def age_order(self) -> tuple[datetime, str]:
        """The sort key that puts the oldest policy first."""
        return self.created, self.name

    @property
    def serving(self) -> Profile | str:
        """The profile. If there is no profile, the message that the policy is refused."""
        return self.profile or f"SchedulingPolicy {self.name} is refused: {self.refusal and self.refusal.message}"


class _CompiledPolicy(NamedTuple):
    """The result of compiling one generation of a policy."""

    profile: Profile | None
    spec: SchedulingPolicySpec | None
    refusal: PolicyRefusal | None


@dataclass(slots=True)
class PolicyStore:
    """Policies by name. `build` returns the profile of a policy, or raises InvalidPolicy or UnknownPlugin."""

    build: Callable[[SchedulingPolicy], Profile]
    reserved: Collection[str] = ()
    """schedulerNames of the configuration file, which no policy can take."""
    name_refusal: Callable[[str], str] = lambda _: ""
    """Returns the reason why no policy may have a schedulerName; empty if a policy may have it."""
    room: PolicyRoom = field(default_factory=PolicyRoom)
    """The limits on all policies. A policy that exceeds the limits is refused and not compiled."""
    _policies: dict[str, _KnownPolicy] = field(default_factory=dict)
    _claims: dict[str, list[_KnownPolicy]] = field(default_factory=lambda: defaultdict(list))
    """The policies of each schedulerName, the oldest first."""
    _serving: dict[str, Profile | str] = field(default_factory=dict)
    """What the engine has for each schedulerName: a profile, or the message that the policy is refused."""
    _states: dict[str, PolicyState] = field(default_factory=dict)

    def replace(self, manifest: Manifest) -> PolicyChanges:
        """Add a policy, or replace it if it changed."""
        return self._settle(self._observe(manifest))

    def remove(self, manifest: Manifest) -> PolicyChanges:
        """Remove a deleted policy. Keep a policy with the same name but another uid, because it is a newer object."""
        known = self._policies.get(_name(manifest))
        if known is None or known.uid != _uid(manifest):
            return PolicyChanges()
        return self._settle([self._forget(known)], deleted=(known.name,))

    def resync(self, manifests: Iterable[Manifest]) -> Iterator[PolicyChanges]:
        """Replace all policies by a complete list. Policies that are missing in the list count as deleted.

        Yield the changes after each policy, because compiling takes milliseconds, and the caller lets other tasks run.
        If there are too many policies, the oldest are accepted.
        """
        listed = {_name(manifest): manifest for manifest in sorted(manifests, key=_age_order)}
        deleted = [known for name, known in self._policies.items() if name not in listed]
        touched = [self._forget(known) for known in deleted]
        yield self._settle(touched, deleted=tuple(known.name for known in deleted))
        for manifest in listed.values():
            yield self.replace(manifest)

    def states(self) -> Collection[PolicyState]:
        """Return the state of every policy. A policy has the same object until its state changes."""
        return self._states.values()

    def _observe(self, manifest: Manifest) -> list[str]:
        """Record a policy; return the schedulerNames whose owner may change."""
        known = self._policies.get(_name(manifest))
        touched = []
        if known is None or known.uid != _uid(manifest):
            touched = [] if known is None else [self._forget(known)]
            known = _first_seen(manifest)
            known.name_refusal = self.name_refusal(known.scheduler_name)
            insort(self._claims[known.scheduler_name], known, key=lambda claim: claim.age_order)
            self._policies[known.name] = known
        generation = _generation(manifest)
        if 0 < generation <= known.generation and not known.lacks_room:
            return touched
        known.generation = generation
        self._update(known, manifest)
        return [*touched, known.scheduler_name]

    def _update(self, known: _KnownPolicy, manifest: Manifest) -> None:
        size = spec_bytes(manifest)
        is_parsed = not known.name_refusal and size <= MAX_SPEC_BYTES
        lack = self.room.take(known.name, size) if is_parsed else ""
        known.lacks_room = bool(lack)
        if known.name_refusal:
            compiled = _refused("NameNotAllowed", known.name_refusal)
        else:
            compiled = _refused("TooManyPolicies", lack) if lack else self._compile(manifest)
        known.spec, known.refusal = compiled.spec, compiled.refusal
        known.profile = compiled.profile or known.profile

    def _compile(self, manifest: Manifest) -> _CompiledPolicy:
        try:
            policy = parse_policy(manifest)
            return _CompiledPolicy(self.build(policy), policy.spec, None)
        except PolicyNotAllowed as error:
            return _refused("NotAllowed", summary_of(error.faults))
        except UnknownPlugin as error:
            return _refused("UnknownPlugin", str(error))
        except (InvalidPolicy, ConfigurationError) as error:
            return _refused("InvalidSpec", summary_of(error.faults))
        except Exception as error:  # a defect in one policy must not stop the others
            logger.exception("SchedulingPolicy %s cannot be compiled because of a defect; report it", _name(manifest))
            return _refused("InvalidSpec", f"cannot be compiled: {type(error).__name__}: {error}")

    def _forget(self, known: _KnownPolicy) -> str:
        """Drop a policy; return its schedulerName."""
        del self._policies[known.name]
        self.room.free(known.name)
        self._states.pop(known.name, None)
        self._claims[known.scheduler_name].remove(known)
        return known.scheduler_name

    def _settle(self, touched: Iterable[str], deleted: tuple[str, ...] = ()) -> PolicyChanges:
        """Choose the owner of each schedulerName in `touched` again, and return the changes."""
        profiles: list[Profile] = []
        removed: list[str] = []
        refused: dict[str, str] = {}
        states: list[PolicyState] = []
        for name in dict.fromkeys(touched):
            owner = self._owner(name)
            states += self._update_states(name, owner)
            before, now = self._serving.pop(name, None), owner.serving if owner else None
            if now is not None:
                self._serving[name] = now
            if now is None:
                removed += [] if before is None else [name]
            elif isinstance(now, str):
                refused |= {} if now == before else {name: now}
            elif now is not before:
                profiles.append(now)
        return PolicyChanges(tuple(profiles), tuple(removed), refused, tuple(states), deleted)

    def _owner(self, scheduler_name: str) -> _KnownPolicy | None:
        """Return the policy that owns a schedulerName: the oldest.

        Return None if a profile of the configuration file has the name, or if no policy may have it. The engine then
        gets no profile of a policy for the name.
        """
        claims = self._claims[scheduler_name]
        if not claims:
            del self._claims[scheduler_name]
            return None
        return None if claims[0].name_refusal or scheduler_name in self.reserved else claims[0]

    def _update_states(self, scheduler_name: str, owner: _KnownPolicy | None) -> Iterator[PolicyState]:
        """Update the states of the policies with a schedulerName; yield the states that changed."""
        for known in self._claims.get(scheduler_name, ()):
            state = _state(known, owner)
            if self._states.get(known.name) != state:
                self._states[known.name] = state
                yield state


def _state(known: _KnownPolicy, owner: _KnownPolicy | None) -> PolicyState:
    owns_name = owner is known
    return PolicyState(
        name=known.name,
        uid=known.uid,
        scheduler_name=known.scheduler_name,
        observed_generation=known.generation,
        profile=known.profile if owns_name else None,
        refusal=known.refusal if owns_name or known.name_refusal else _conflict(known.scheduler_name, owner),
        conditions=known.conditions,
        spec=known.spec if owns_name else None,
    )


def _refused(reason: str, message: str) -> _CompiledPolicy:
    return _CompiledPolicy(None, None, PolicyRefusal(reason, message))


def _conflict(scheduler_name: str, owner: _KnownPolicy | None) -> PolicyRefusal:
    holder = f"the older policy {owner.name}" if owner else "a profile of the configuration file"
    message = f"schedulerName {scheduler_name} belongs to {holder}; create this policy with another schedulerName"
    return PolicyRefusal("NameConflict", message)


def _first_seen(manifest: Manifest) -> _KnownPolicy:
    metadata, spec = manifest.get("metadata") or {}, manifest.get("spec") or {}
    timestamp = metadata.get("creationTimestamp")
    return _KnownPolicy(
        name=_name(manifest),
        uid=_uid(manifest),
        created=datetime.fromisoformat(timestamp) if timestamp else datetime.max.replace(tzinfo=UTC),
        scheduler_name=str(spec.get("schedulerName") or _name(manifest)),
        conditions=tuple((manifest.get("status") or {}).get("conditions") or ()),
    )


def _age_order(manifest: Manifest) -> tuple[str, str]:
    """Return the sort key that puts the oldest policy first; RFC 3339 timestamps in UTC sort as text."""
    return str((manifest.get("metadata") or {}).get("creationTimestamp") or "~"), _name(manifest)


def _generation(manifest: Manifest) -> int:
    return int((manifest.get("metadata") or {}).get("generation") or 0)


def _name(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("name") or "")


def _uid(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("uid") or "")
