"""Terms: conditions that select pods.

A counted term comes from a constraint of an incoming pod and selects placed pods. A carried term is an affinity term in
the spec of a placed pod and selects incoming pods.
"""

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
    """A condition on the namespace, the labels and the controller of a pod."""

    namespaces: frozenset[str] | None
    """None selects all namespaces."""
    selector: LabelSelector | None
    """If it is None, the clause matches no pod."""
    owner_uid: str = ""
    """Uid of the controller that must own the pod. If it is empty, the controller does not matter."""

    def matches(self, shape: PodShape) -> bool:
        """Return whether pods of this shape meet the clause."""
        if self.selector is None or (self.namespaces is not None and shape.namespace not in self.namespaces):
            return False
        if self.owner_uid and (shape.owner is None or shape.owner.uid != self.owner_uid):
            return False
        return self.selector.matches(shape.labels)


@dataclass(frozen=True, slots=True)
class CountedTerm:
    """The clauses that a placed pod must meet to be counted.

    For example, a spread constraint with the selector `app=web` of a pod in the namespace `shop` becomes a term with
    one clause, for this namespace and selector.
    """

    clauses: tuple[Clause, ...]
    counts_terminating: bool
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash once, because each cycle of a pod with this term looks up the term's counts by the hash."""
        object.__setattr__(self, "_hash", hash((self.clauses, self.counts_terminating)))

    def __hash__(self) -> int:
        """Return the hash of the fields; equal terms share one column."""
        return self._hash

    def matches_shape(self, shape: PodShape) -> bool:
        """Return whether pods of this shape meet all clauses."""
        return all(clause.matches(shape) for clause in self.clauses)

    def matches(self, pod: Pod) -> bool:
        """Return whether the term counts the pod."""
        return (self.counts_terminating or not pod.terminating) and self.matches_shape(pod.shape)


class CarriedKind(Enum):
    """The four kinds of affinity terms in the spec of a pod."""

    REQUIRED_AFFINITY = "RequiredAffinity"
    REQUIRED_ANTI_AFFINITY = "RequiredAntiAffinity"
    PREFERRED_AFFINITY = "PreferredAffinity"
    PREFERRED_ANTI_AFFINITY = "PreferredAntiAffinity"


@dataclass(frozen=True, slots=True)
class CarriedTerm:
    """An affinity term in the spec of a placed pod; `weight` is 0 for a required term."""

    kind: CarriedKind
    term: AffinityTerm
    weight: int = 0

    def matches(self, shape: PodShape, namespaces: Mapping[str, Labels]) -> bool:
        """Return whether the term matches pods of this shape."""
        if self.term.selector is None or not self.term.selector.matches(shape.labels):
            return False
        if shape.namespace in self.term.namespaces:
            return True
        selector = self.term.namespace_selector
        return selector is not None and selector.matches(namespaces.get(shape.namespace, {}))


class Carried(Struct, frozen=True):
    """A carried term, and for each node of the view the number of placed pods that carry the term."""

    term: AffinityTerm
    weight: int
    counts: IntArray


def carried_by(shape: PodShape) -> tuple[CarriedTerm, ...]:
    """Return the terms that pods of this shape carry, including duplicates."""
    affinity = shape.pod_affinity
    if affinity.is_empty:
        return ()
    return (
        *(CarriedTerm(CarriedKind.REQUIRED_AFFINITY, each) for each in affinity.required_affinity),
        *(CarriedTerm(CarriedKind.REQUIRED_ANTI_AFFINITY, each) for each in affinity.required_anti_affinity),
        *(CarriedTerm(CarriedKind.PREFERRED_AFFINITY, e.term, e.weight) for e in affinity.preferred_affinity),
        *(CarriedTerm(CarriedKind.PREFERRED_ANTI_AFFINITY, e.term, e.weight) for e in affinity.preferred_anti_affinity),
    )
