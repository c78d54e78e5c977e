"""Affinity, topology spread constraints and tolerations of pods as the API server sends them."""

from __future__ import annotations

from msgspec import Struct

from moorage.model.api_selectors import ApiLabelSelector, ApiNodeSelector, ApiNodeSelectorTerm


class ApiPreferredNode(Struct, frozen=True):
    """`v1.PreferredSchedulingTerm`."""

    weight: int
    preference: ApiNodeSelectorTerm = ApiNodeSelectorTerm()


class ApiNodeAffinity(Struct, frozen=True, rename="camel"):
    """`v1.NodeAffinity`."""

    required_during_scheduling_ignored_during_execution: ApiNodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[ApiPreferredNode] | None = None


class ApiPodTerm(Struct, frozen=True, rename="camel"):
    """`v1.PodAffinityTerm`."""

    topology_key: str = ""
    label_selector: ApiLabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: ApiLabelSelector | None = None


class ApiWeightedPodTerm(Struct, frozen=True, rename="camel"):
    """`v1.WeightedPodAffinityTerm`."""

    weight: int
    pod_affinity_term: ApiPodTerm


class ApiPodAffinity(Struct, frozen=True, rename="camel"):
    """`v1.PodAffinity` and `v1.PodAntiAffinity`."""

    required_during_scheduling_ignored_during_execution: list[ApiPodTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[ApiWeightedPodTerm] | None = None


class ApiAffinity(Struct, frozen=True, rename="camel"):
    """`v1.Affinity`."""

    node_affinity: ApiNodeAffinity | None = None
    pod_affinity: ApiPodAffinity | None = None
    pod_anti_affinity: ApiPodAffinity | None = None


class ApiSpreadConstraint(Struct, frozen=True, rename="camel"):
    """`v1.TopologySpreadConstraint`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: ApiLabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ApiToleration(Struct, frozen=True):
    """`v1.Toleration`."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
