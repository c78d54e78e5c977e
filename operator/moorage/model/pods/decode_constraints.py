"""Affinity, topology spread and tolerations of a pod: from raw bytes to the digested structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw

from moorage.model.decode_selectors import (
    label_selector,
    labels_as_requirements,
    node_selector,
    node_selector_term,
    ordered,
)
from moorage.model.pods.affinity import (
    NO_POD_AFFINITY,
    AffinityTerm,
    NodeAffinityTerms,
    PodAffinity,
    TopologySpreadConstraint,
    WeightedAffinityTerm,
)
from moorage.model.pods.api_constraints import (
    ApiAffinity,
    ApiLabelSelector,
    ApiNodeAffinity,
    ApiPodAffinity,
    ApiPodTerm,
    ApiSpreadConstraint,
    ApiWeightedPodTerm,
)
from moorage.model.pods.api_pods import ApiToleration
from moorage.model.pods.pod import Toleration
from moorage.model.raw import at, read
from moorage.model.selectors import LabelSelector, PreferredSchedulingTerm


def affinity(raw: Raw, namespace: str) -> tuple[NodeAffinityTerms | None, PodAffinity]:
    """Digest `spec.affinity` of a pod in `namespace`."""
    wire = read(raw, ApiAffinity)
    if wire is None:
        return None, NO_POD_AFFINITY
    return (
        None if wire.node_affinity is None else _node_affinity(wire.node_affinity),
        _pod_affinity(wire.pod_affinity or ApiPodAffinity(), wire.pod_anti_affinity or ApiPodAffinity(), namespace),
    )


def spread_constraints(raw: Raw, labels: Mapping[str, str]) -> tuple[TopologySpreadConstraint, ...]:
    """Digest `spec.topologySpreadConstraints` of a pod with these labels."""
    wires = read(raw, list[ApiSpreadConstraint])
    return tuple(
        TopologySpreadConstraint(
            max_skew=wire.max_skew,
            topology_key=wire.topology_key,
            when_unsatisfiable=wire.when_unsatisfiable,
            selector=_with_label_keys(_selector(wire.label_selector), wire.match_label_keys or (), labels),
            min_domains=1 if wire.min_domains is None else wire.min_domains,
            honor_affinity=wire.node_affinity_policy in {None, "Honor"},
            honor_taints=wire.node_taints_policy == "Honor",
        )
        for wire in wires or ()
    )


def tolerations(raw: Raw) -> tuple[Toleration, ...]:
    """Digest `spec.tolerations`; for how long an eviction is tolerated does not matter here."""
    wires = read(raw, list[ApiToleration])
    return tuple(Toleration(wire.key, wire.operator, wire.value, wire.effect) for wire in wires or ())


def _node_affinity(wire: ApiNodeAffinity) -> NodeAffinityTerms:
    required = wire.required_during_scheduling_ignored_during_execution
    preferred = wire.preferred_during_scheduling_ignored_during_execution or ()
    return NodeAffinityTerms(
        required=None if required is None else node_selector(required),
        preferred=tuple(
            PreferredSchedulingTerm(each.weight, node_selector_term(each.preference)) for each in preferred
        ),
    )


def _pod_affinity(affinity: ApiPodAffinity, anti_affinity: ApiPodAffinity, namespace: str) -> PodAffinity:
    return PodAffinity(
        required_affinity=_terms(affinity.required_during_scheduling_ignored_during_execution, namespace),
        required_anti_affinity=_terms(anti_affinity.required_during_scheduling_ignored_during_execution, namespace),
        preferred_affinity=_weighted(affinity.preferred_during_scheduling_ignored_during_execution, namespace),
        preferred_anti_affinity=_weighted(
            anti_affinity.preferred_during_scheduling_ignored_during_execution, namespace
        ),
    )


def _terms(wires: Sequence[ApiPodTerm] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_term(wire, namespace) for wire in wires or ())


def _weighted(wires: Sequence[ApiWeightedPodTerm] | None, namespace: str) -> tuple[WeightedAffinityTerm, ...]:
    return tuple(WeightedAffinityTerm(wire.weight, _term(wire.pod_affinity_term, namespace)) for wire in wires or ())


def _term(wire: ApiPodTerm, namespace: str) -> AffinityTerm:
    """Digest a term; the API server has merged matchLabelKeys and mismatchLabelKeys into its selector already."""
    own = not wire.namespaces and wire.namespace_selector is None
    return AffinityTerm(
        topology_key=wire.topology_key,
        selector=_selector(wire.label_selector),
        namespaces=frozenset((namespace,)) if own else frozenset(wire.namespaces or ()),
        namespace_selector=_selector(wire.namespace_selector, "namespaceSelector"),
    )


def _selector(wire: ApiLabelSelector | None, field: str = "labelSelector") -> LabelSelector | None:
    with at(field):
        return label_selector(wire)


def _with_label_keys(
    selector: LabelSelector | None, keys: Sequence[str], labels: Mapping[str, str]
) -> LabelSelector | None:
    """Add the pod's own values of `matchLabelKeys`; with them even no selector becomes one, as in kube-scheduler."""
    own = labels_as_requirements({key: labels[key] for key in keys if key in labels})
    if not own:
        return selector
    return LabelSelector(ordered([*own, *(selector.requirements if selector else ())]))
