"""Affinity and topology spread of pods, digested."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.model.selectors import LabelSelector, NodeSelector, PreferredSchedulingTerm


@dataclass(frozen=True, slots=True)
class NodeAffinityTerms:
    """`spec.affinity.nodeAffinity`; `required` is None where the pod states none."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod (anti-)affinity term.

    `namespaces` are the term's own, or the pod's namespace where the term names none and has no namespaceSelector.
    A selector of None matches nothing.
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class WeightedAffinityTerm:
    """A preferred term and its weight, 1 to 100."""

    weight: int
    term: AffinityTerm


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """`spec.affinity.podAffinity` and `podAntiAffinity` together."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedAffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedAffinityTerm, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the pod states no term at all."""
        return not (
            self.required_affinity
            or self.required_anti_affinity
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )


NO_POD_AFFINITY = PodAffinity()


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """A spread constraint with the API's defaults filled in; matchLabelKeys are merged into the selector."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    """DoNotSchedule or ScheduleAnyway."""
    selector: LabelSelector | None
    min_domains: int = 1
    honor_affinity: bool = True
    """nodeAffinityPolicy is Honor."""
    honor_taints: bool = False
    """nodeTaintsPolicy is Honor."""
