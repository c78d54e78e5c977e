"""Affinity and topology spread constraints of pods."""

from __future__ import annotations

from dataclasses import dataclass

from moorage.model.selectors import LabelSelector, NodeSelector, PreferredSchedulingTerm


@dataclass(frozen=True, slots=True)
class NodeAffinityTerms:
    """`spec.affinity.nodeAffinity`; `required` is None if the pod has no required node affinity."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A `v1.PodAffinityTerm` of affinity or anti-affinity."""

    topology_key: str
    selector: LabelSelector | None
    """None selects no pods."""
    namespaces: frozenset[str]
    """The namespaces that the term lists. If the term has neither namespaces nor a namespaceSelector, this is the
    namespace of its pod."""
    namespace_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class WeightedAffinityTerm:
    """A `v1.WeightedPodAffinityTerm`; the weight is 1 to 100."""

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
        """Whether the pod has no term."""
        return not (
            self.required_affinity
            or self.required_anti_affinity
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )


NO_POD_AFFINITY = PodAffinity()


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """A `v1.TopologySpreadConstraint` with the API's defaults; the selector includes the matchLabelKeys."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    """DoNotSchedule or ScheduleAnyway."""
    selector: LabelSelector | None
    min_domains: int = 1
    honor_affinity: bool = True
    """Whether nodeAffinityPolicy is Honor."""
    honor_taints: bool = False
    """Whether nodeTaintsPolicy is Honor."""
