"""Decodes affinity, topology spread constraints and tolerations of a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw

from moorage.model.api_selectors import ApiLabelSelector
from moorage.model.decode_selectors import (
    decode_label_selector,
    decode_node_selector,
    decode_node_selector_term,
    labels_as_requirements,
    sorted_requirements,
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
    ApiNodeAffinity,
    ApiPodAffinity,
    ApiPodTerm,
    ApiSpreadConstraint,
    ApiToleration,
    ApiWeightedPodTerm,
)
from moorage.model.pods.pod import Toleration
from moorage.model.raw_fields import error_path, read
from moorage.model.selectors import LabelSelector, PreferredSchedulingTerm


def decode_affinity(raw: Raw, namespace: str) -> tuple[NodeAffinityTerms | None, PodAffinity]:
    """Decode `spec.affinity` of a pod in `namespace`."""
    api = read(raw, ApiAffinity)
    if api is None:
        return None, NO_POD_AFFINITY
    return (
        None if api.node_affinity is None else _node_affinity(api.node_affinity),
        _pod_affinity(api.pod_affinity or ApiPodAffinity(), api.pod_anti_affinity or ApiPodAffinity(), namespace),
    )


def decode_spread_constraints(raw: Raw, labels: Mapping[str, str]) -> tuple[TopologySpreadConstraint, ...]:
    """Decode `spec.topologySpreadConstraints` of a pod with these labels."""
    constraints = read(raw, list[ApiSpreadConstraint])
    return tuple(
        TopologySpreadConstraint(
            max_skew=api.max_skew,
            topology_key=api.topology_key,
            when_unsatisfiable=api.when_unsatisfiable,
            selector=_with_label_keys(_selector(api.label_selector), api.match_label_keys or (), labels),
            min_domains=1 if api.min_domains is None else api.min_domains,
            honor_affinity=api.node_affinity_policy in {None, "Honor"},
            honor_taints=api.node_taints_policy == "Honor",
        )
        for api in constraints or ()
    )


def decode_tolerations(raw: Raw) -> tuple[Toleration, ...]:
    """Decode `spec.tolerations` without `tolerationSeconds`, which only matters to eviction."""
    found = read(raw, list[ApiToleration])
    return tuple(Toleration(api.key, api.operator, api.value, api.effect) for api in found or ())


def _node_affinity(api: ApiNodeAffinity) -> NodeAffinityTerms:
    required = api.required_during_scheduling_ignored_during_execution
    preferred = api.preferred_during_scheduling_ignored_during_execution or ()
    return NodeAffinityTerms(
        required=None if required is None else decode_node_selector(required),
        preferred=tuple(
            PreferredSchedulingTerm(each.weight, decode_node_selector_term(each.preference)) for each in preferred
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


def _terms(terms: Sequence[ApiPodTerm] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_term(api, namespace) for api in terms or ())


def _weighted(terms: Sequence[ApiWeightedPodTerm] | None, namespace: str) -> tuple[WeightedAffinityTerm, ...]:
    return tuple(WeightedAffinityTerm(api.weight, _term(api.pod_affinity_term, namespace)) for api in terms or ())


def _term(api: ApiPodTerm, namespace: str) -> AffinityTerm:
    """Decode a term; the API server has already merged matchLabelKeys and mismatchLabelKeys into its selector."""
    own = not api.namespaces and api.namespace_selector is None
    return AffinityTerm(
        topology_key=api.topology_key,
        selector=_selector(api.label_selector),
        namespaces=frozenset((namespace,)) if own else frozenset(api.namespaces or ()),
        namespace_selector=_selector(api.namespace_selector, "namespaceSelector"),
    )


def _selector(api: ApiLabelSelector | None, field: str = "labelSelector") -> LabelSelector | None:
    with error_path(field):
        return decode_label_selector(api)


def _with_label_keys(
    selector: LabelSelector | None, keys: Sequence[str], labels: Mapping[str, str]
) -> LabelSelector | None:
    """Add the pod's values of `matchLabelKeys` to a selector.

    If the selector is None, the result has only these values, as in kube-scheduler.
    """
    own = labels_as_requirements({key: labels[key] for key in keys if key in labels})
    if not own:
        return selector
    return LabelSelector(sorted_requirements([*own, *(selector.requirements if selector else ())]))
