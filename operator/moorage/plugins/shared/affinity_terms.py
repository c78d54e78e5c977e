"""The affinity terms of the incoming pod, with namespaceSelectors replaced by the names of namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.cluster.terms.counted_terms import Clause, CountedTerm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moorage.model.pods.affinity import AffinityTerm, WeightedAffinityTerm
    from moorage.model.pods.pod import PodShape
    from moorage.model.selectors import Labels


@dataclass(frozen=True, slots=True)
class KeyedTerm:
    """A counted term, the topology key whose domains the counts belong to, and the weight of one matching pod."""

    topology_key: str
    counted: CountedTerm
    weight: int = 1


@dataclass(frozen=True, slots=True)
class IncomingTerms:
    """The terms of the incoming pod. `affinity` counts the pods that match all required affinity terms at once."""

    affinity: CountedTerm
    affinity_keys: tuple[str, ...]
    anti_affinity: tuple[KeyedTerm, ...]
    preferred: tuple[KeyedTerm, ...]
    """The preferred terms; terms of anti-affinity have negative weights."""
    matches_itself: bool
    """Whether the pod matches all its required affinity terms, so that it may be the first pod of its group."""


def resolve_terms(shape: PodShape, namespaces: Mapping[str, Labels]) -> IncomingTerms:
    """Resolve the terms of pods of a shape; `namespaces` maps names to labels."""
    affinity = shape.pod_affinity
    near = CountedTerm(tuple(_clause(term, namespaces) for term in affinity.required_affinity), counts_terminating=True)
    return IncomingTerms(
        affinity=near,
        affinity_keys=tuple(dict.fromkeys(term.topology_key for term in affinity.required_affinity)),
        anti_affinity=tuple(
            KeyedTerm(term.topology_key, _counted(term, namespaces)) for term in affinity.required_anti_affinity
        ),
        preferred=(
            *_weighted(affinity.preferred_affinity, 1, namespaces),
            *_weighted(affinity.preferred_anti_affinity, -1, namespaces),
        ),
        matches_itself=bool(near.clauses) and near.matches_shape(shape),
    )


def _weighted(
    terms: Iterable[WeightedAffinityTerm], sign: int, namespaces: Mapping[str, Labels]
) -> tuple[KeyedTerm, ...]:
    return tuple(
        KeyedTerm(weighted.term.topology_key, _counted(weighted.term, namespaces), sign * weighted.weight)
        for weighted in terms
    )


def _counted(term: AffinityTerm, namespaces: Mapping[str, Labels]) -> CountedTerm:
    return CountedTerm((_clause(term, namespaces),), counts_terminating=True)


def _clause(term: AffinityTerm, namespaces: Mapping[str, Labels]) -> Clause:
    selector = term.namespace_selector
    if selector is None:
        return Clause(term.namespaces, term.selector)
    if selector.matches({}):
        # An empty selector means all namespaces. In kube-scheduler 1.35 and 1.36, a selector of only NotIn and
        # DoesNotExist also means all namespaces, because these versions match the term a second time, without the
        # namespace's labels. Upstream fixed that in PR #138198, after 1.36.
        return Clause(None, term.selector)
    selected = frozenset(name for name, labels in namespaces.items() if selector.matches(labels))
    return Clause(term.namespaces | selected, term.selector)
