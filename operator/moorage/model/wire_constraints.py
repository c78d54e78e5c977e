"""Selectors, affinity and topology spread as they come off the wire."""

from __future__ import annotations

from msgspec import Struct


class RequirementWire(Struct, frozen=True):
    """`metav1.LabelSelectorRequirement` and `v1.NodeSelectorRequirement`."""

    key: str
    operator: str
    values: list[str] | None = None


class LabelSelectorWire(Struct, frozen=True, rename="camel"):
    """`metav1.LabelSelector`."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[RequirementWire] | None = None


class NodeSelectorTermWire(Struct, frozen=True, rename="camel"):
    """`v1.NodeSelectorTerm`."""

    match_expressions: list[RequirementWire] | None = None
    match_fields: list[RequirementWire] | None = None


class NodeSelectorWire(Struct, frozen=True, rename="camel"):
    """`v1.NodeSelector`."""

    node_selector_terms: list[NodeSelectorTermWire] | None = None


class PreferredNodeWire(Struct, frozen=True):
    """`v1.PreferredSchedulingTerm`."""

    weight: int
    preference: NodeSelectorTermWire = NodeSelectorTermWire()


class NodeAffinityWire(Struct, frozen=True, rename="camel"):
    """`v1.NodeAffinity`."""

    required_during_scheduling_ignored_during_execution: NodeSelectorWire | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredNodeWire] | None = None


class PodTermWire(Struct, frozen=True, rename="camel"):
    """`v1.PodAffinityTerm`."""

    topology_key: str = ""
    label_selector: LabelSelectorWire | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelectorWire | None = None


class WeightedPodTermWire(Struct, frozen=True, rename="camel"):
    """`v1.WeightedPodAffinityTerm`."""

    weight: int
    pod_affinity_term: PodTermWire


class PodAffinityWire(Struct, frozen=True, rename="camel"):
    """`v1.PodAffinity` and `v1.PodAntiAffinity`."""

    required_during_scheduling_ignored_during_execution: list[PodTermWire] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodTermWire] | None = None


class AffinityWire(Struct, frozen=True, rename="camel"):
    """`v1.Affinity`."""

    node_affinity: NodeAffinityWire | None = None
    pod_affinity: PodAffinityWire | None = None
    pod_anti_affinity: PodAffinityWire | None = None


class SpreadConstraintWire(Struct, frozen=True, rename="camel"):
    """`v1.TopologySpreadConstraint`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelectorWire | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None
