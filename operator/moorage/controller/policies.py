"""All policies of the cluster, which of them are live, and what is to be said of each.

    seen, compiles           -> live, unless an older policy (or the configuration file) has the schedulerName
    seen, does not compile   -> the last good profile stays live and the conditions say so; none: nothing is live,
                                and the pods of the name are told why
    deleted                  -> its profile goes; a younger policy of the same schedulerName takes over

Two policies with one schedulerName: the older one keeps it (creationTimestamp, then name), the other is refused with
NameConflict. Pure: objects go in, live profiles and verdicts come out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from moorage.api.v1alpha1 import SchedulingPolicy, parse_policy
from moorage.errors import ConfigurationError, InvalidPolicy, UnknownPlugin
from moorage.framework.profile import Profile

logger = logging.getLogger(__name__)

Manifest = Mapping[str, Any]
"""A SchedulingPolicy as JSON has it."""


@dataclass(frozen=True, slots=True)
class PolicyRefusal:
    """Why a policy is not accepted: the condition's reason, and a sentence with the next step."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What is to be said of one policy."""

    name: str
    uid: str
    scheduler_name: str
    observed_generation: int
    profile: Profile | None
    """The profile that is live for it; older than `observed_generation` while that is refused."""
    refusal: PolicyRefusal | None
    conditions: tuple[Mapping[str, Any], ...] = ()
    """The conditions that the object carried when it was last seen."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the engine is to be told."""

    changed: tuple[Profile, ...] = ()
    removed: tuple[str, ...] = ()
    """schedulerNames that nobody has any more."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """schedulerNames whose policy is refused and has no last good profile, and which one that is, and why."""


@dataclass(slots=True)
class _KnownPolicy:
    """A policy as it was last seen, and its last good profile."""

    name: str
    uid: str
    created: datetime
    scheduler_name: str
    generation: int
    refusal: PolicyRefusal | None = None
    profile: Profile | None = None
    conditions: tuple[Mapping[str, Any], ...] = ()

    @property
    def words(self) -> str:
        """Say that the policy is refused, and why."""
        return f"SchedulingPolicy {self.name} is refused: {self.refusal.message}" if self.refusal else ""

    @property
    def age_order(self) -> tuple[datetime, str]:
        """The oldest first."""
        return self.created, self.name


@dataclass(slots=True)
class PolicyStore:
    """Policies by name. `build` makes a profile of a policy, or raises InvalidPolicy, UnknownPlugin and the like."""

    build: Callable[[SchedulingPolicy], Profile]
    reserved: Collection[str] = ()
    """schedulerNames that the configuration file has, and no policy may take."""
    _known: dict[str, _KnownPolicy] = field(default_factory=dict)
    _live: dict[str, Profile] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def replace(self, manifest: Manifest) -> Changes:
        """Take in a policy as it is now."""
        self._see(manifest)
        return self._settle()

    def remove(self, manifest: Manifest) -> Changes:
        """Take out a policy that was deleted; one of the same name that was created since stays."""
        known = self._known.get(_name(manifest))
        if known and known.uid == _uid(manifest):
            del self._known[known.name]
        return self._settle()

    def resync(self, manifests: Iterable[Manifest]) -> Changes:
        """Take in a complete list: what is not in it was deleted while nobody watched."""
        listed = {_name(manifest): manifest for manifest in manifests}
        for name in self._known.keys() - listed.keys():
            del self._known[name]
        for manifest in listed.values():
            self._see(manifest)
        return self._settle()

    def verdicts(self) -> list[PolicyState]:
        """Say what is to be said of every policy, by name."""
        return [self._verdict(known) for _, known in sorted(self._known.items())]

    def _see(self, manifest: Manifest) -> None:
        metadata = manifest.get("metadata") or {}
        name, uid, generation = _name(manifest), _uid(manifest), int(metadata.get("generation") or 0)
        known = self._known.get(name)
        if known is None or known.uid != uid:
            spec = manifest.get("spec") or {}
            created = _created(metadata.get("creationTimestamp"))
            known = _KnownPolicy(name, uid, created, str(spec.get("schedulerName") or name), generation=-1)
            known.conditions = _conditions(manifest)
            self._known[name] = known
        if generation <= known.generation and generation > 0:
            return
        known.generation = generation
        try:
            known.profile = self.build(parse_policy(manifest))
            known.refusal = None
        except UnknownPlugin as error:
            known.refusal = PolicyRefusal("UnknownPlugin", str(error))
        except (InvalidPolicy, ConfigurationError) as error:
            known.refusal = PolicyRefusal("InvalidSpec", "; ".join(map(str, error.faults)))
        except Exception as fault:  # a border: what nobody foresaw in one policy must not cost the others
            logger.exception("SchedulingPolicy %s cannot be compiled for an unforeseen reason", name)
            known.refusal = PolicyRefusal("InvalidSpec", f"it cannot be compiled: {type(fault).__name__}: {fault}")

    def _settle(self) -> Changes:
        """Decide anew who has which name, and tell what that changes."""
        owners = self._owners()
        live = {name: known.profile for name, known in owners.items() if known.profile}
        refused = {name: known.words for name, known in owners.items() if not known.profile}
        changes = Changes(
            changed=tuple(profile for name, profile in live.items() if self._live.get(name) is not profile),
            removed=tuple((self._live.keys() | self._refused.keys()) - owners.keys()),
            refused={name: words for name, words in refused.items() if self._refused.get(name) != words},
        )
        self._live, self._refused = live, refused
        return changes

    def _owners(self) -> dict[str, _KnownPolicy]:
        owners: dict[str, _KnownPolicy] = {}
        for known in sorted(self._known.values(), key=lambda known: known.age_order):
            if known.scheduler_name not in self.reserved:
                owners.setdefault(known.scheduler_name, known)
        return owners

    def _verdict(self, known: _KnownPolicy) -> PolicyState:
        owner = self._owners().get(known.scheduler_name)
        refusal = known.refusal if owner is known else _conflict(known.scheduler_name, owner)
        return PolicyState(
            name=known.name,
            uid=known.uid,
            scheduler_name=known.scheduler_name,
            observed_generation=known.generation,
            profile=known.profile if owner is known else None,
            refusal=refusal,
            conditions=known.conditions,
        )


def _conflict(scheduler_name: str, owner: _KnownPolicy | None) -> PolicyRefusal:
    holder = f"the older policy {owner.name}" if owner else "a profile of the configuration file"
    message = f"schedulerName {scheduler_name} belongs to {holder}; create this policy with another schedulerName"
    return PolicyRefusal("NameConflict", message)


def _name(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("name") or "")


def _uid(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("uid") or "")


def _created(timestamp: Any) -> datetime:
    return datetime.fromisoformat(timestamp) if timestamp else datetime.max.replace(tzinfo=UTC)


def _conditions(manifest: Manifest) -> tuple[Mapping[str, Any], ...]:
    return tuple((manifest.get("status") or {}).get("conditions") or ())
