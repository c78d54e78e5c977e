"""Terms by which placed pods are counted: what the incoming pod asks of them, and what they carry themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from moorage.model.selectors import Labels, LabelSelector

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.model.pods.affinity import AffinityTerm
    from moorage.model.pods.pod import Pod, PodShape


@dataclass(frozen=True, slots=True)
class Clause:
    """Pods of some namespaces (None: of all) that a selector matches (None: matches nothing) and that one owner has."""

    namespaces: frozenset[str] | None
    selector: LabelSelector | None
    owner_uid: str = ""
    """Uid of the controlling owner; empty for any."""

    def matches(self, shape: PodShape) -> bool:
        """Whether pods of this shape meet the clause."""
        if self.selector is None or (self.namespaces is not None and shape.namespace not in self.namespaces):
            return False
        if self.owner_uid and (shape.owner is None or shape.owner.uid != self.owner_uid):
            return False
        return self.selector.matches(shape.labels)


@dataclass(frozen=True, slots=True)
class CountedTerm:
    """Which placed pods are counted: those that meet all clauses."""

    clauses: tuple[Clause, ...]
    counts_terminating: bool
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once: a term is looked up in every cycle of its pods."""
        object.__setattr__(self, "_hash", hash((self.clauses, self.counts_terminating)))

    def __hash__(self) -> int:
        """Equal terms share one column."""
        return self._hash

    def matches_shape(self, shape: PodShape) -> bool:
        """Whether pods of this shape meet all clauses."""
        return all(clause.matches(shape) for clause in self.clauses)

    def matches(self, pod: Pod) -> bool:
        """Whether the pod is counted."""
        return (self.counts_terminating or not pod.terminating) and self.matches_shape(pod.shape)


class CarriedKind(Enum):
    """The four lists of terms that a pod may carry."""

    REQUIRED_AFFINITY = "RequiredAffinity"
    REQUIRED_ANTI_AFFINITY = "RequiredAntiAffinity"
    PREFERRED_AFFINITY = "PreferredAffinity"
    PREFERRED_ANTI_AFFINITY = "PreferredAntiAffinity"


@dataclass(frozen=True, slots=True)
class CarriedTerm:
    """A term as pods carry it; `weight` is 0 for a required one."""

    kind: CarriedKind
    term: AffinityTerm
    weight: int = 0

    def matches(self, shape: PodShape, namespaces: Mapping[str, Labels]) -> bool:
        """Whether the term speaks of pods of this shape."""
        if self.term.selector is None or not self.term.selector.matches(shape.labels):
            return False
        if shape.namespace in self.term.namespaces:
            return True
        selector = self.term.namespace_selector
        return selector is not None and selector.matches(namespaces.get(shape.namespace, {}))


class Carried(Struct, frozen=True):
    """A term that placed pods carry, and how many carry it on each node of the view."""

    term: AffinityTerm
    weight: int
    counts: IntArray


def carried_by(shape: PodShape) -> tuple[CarriedTerm, ...]:
    """List the terms that pods of this shape carry; one that is stated twice is there twice."""
    affinity = shape.pod_affinity
    if affinity.is_empty:
        return ()
    return (
        *(CarriedTerm(CarriedKind.REQUIRED_AFFINITY, each) for each in affinity.required_affinity),
        *(CarriedTerm(CarriedKind.REQUIRED_ANTI_AFFINITY, each) for each in affinity.required_anti_affinity),
        *(CarriedTerm(CarriedKind.PREFERRED_AFFINITY, e.term, e.weight) for e in affinity.preferred_affinity),
        *(CarriedTerm(CarriedKind.PREFERRED_ANTI_AFFINITY, e.term, e.weight) for e in affinity.preferred_anti_affinity),
    )
