"""Changes of the pod itself: smaller requests, a toleration, and fewer or weaker constraints."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from moorage.cluster.snapshot import Snapshot
from moorage.engine.counterfactuals.amounts import amount_text
from moorage.engine.counterfactuals.counterfactual import ChangeKind, Counterfactual, change_to, fitting_nodes
from moorage.framework.profile import Profile
from moorage.model.node import Taint
from moorage.model.pods.affinity import AffinityTerm, TopologySpreadConstraint
from moorage.model.pods.pod import Pod, Toleration
from moorage.model.resources import Resources
from moorage.model.selectors import NodeSelector, NodeSelectorTerm

PREFER_NO_SCHEDULE = "PreferNoSchedule"
DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"

MAX_TRIES = 1000
"""The number of changed pods to try. A pod may have hundreds of constraints, each of which needs several tries."""
Fits = Callable[[Pod], list[str]]
"""Returns the names of the nodes on which a pod fits."""


def pod_changes(
    profile: Profile, pod: Pod, snapshot: Snapshot, goes_on: Callable[[], bool]
) -> Iterator[Counterfactual]:
    """Yield single changes of the pod that let it fit on a node, each as small as possible.

    When `goes_on` returns False, the search tries nothing more, so a change may be larger than necessary.
    """
    tries = 0

    def fits(changed: Pod) -> list[str]:
        nonlocal tries
        tries += 1
        return fitting_nodes(profile, changed, snapshot) if tries <= MAX_TRIES and goes_on() else []

    yield from _smaller_requests(pod, snapshot, fits)
    yield from _tolerations(pod, snapshot, fits)
    yield from _shorter_selectors(pod, fits)
    yield from _weaker_spread(pod, snapshot, fits)
    yield from _fewer_affinity_terms(pod, fits)


def with_shape(pod: Pod, **fields: Any) -> Pod:
    """Return the pod with some fields of its shape replaced."""
    return replace(pod, shape=dataclasses.replace(pod.shape, **fields))


def _smaller_requests(pod: Pod, snapshot: Snapshot, fits: Fits) -> Iterator[Counterfactual]:
    """Reduce one request by the smallest amount after which the pod fits on a node."""
    for resource, amount in pod.shape.requests.amounts:
        free = snapshot.allocatable(resource) - snapshot.requested(resource)
        possible = np.unique(free[(free > 0) & (free < amount)])[::-1].tolist()

        def trial(requested: int, resource: str = resource) -> Pod:
            return with_shape(pod, requests=_with_amount(pod.shape.requests, resource, requested))

        found = _first_that_fits(possible, trial, fits)
        if found is not None:
            requested, names = found
            less = amount - requested
            yield change_to(ChangeKind.REQUEST, f"{amount_text(resource, less)} less {resource}", names, less / amount)


def _tolerations(pod: Pod, snapshot: Snapshot, fits: Fits) -> Iterator[Counterfactual]:
    """Tolerate one taint of a node."""
    taints = {taint for position in range(snapshot.size) for taint in snapshot.node(position).taints}
    rejecting = (taint for taint in taints if taint.effect != PREFER_NO_SCHEDULE)
    for taint in sorted(rejecting, key=_taint_text):
        added = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        names = fits(with_shape(pod, tolerations=(*pod.shape.tolerations, added)))
        if names:
            yield change_to(ChangeKind.TOLERATION, f"a toleration for the taint {_taint_text(taint)}", names)


def _shorter_selectors(pod: Pod, fits: Fits) -> Iterator[Counterfactual]:
    """Remove one label of the nodeSelector, or one requirement of the required node affinity."""
    selector = pod.shape.node_selector or {}
    for key, value in sorted(selector.items()):
        names = fits(without_selector_label(pod, key))
        if names:
            yield change_to(ChangeKind.SELECTOR, f"no nodeSelector {key}={value}", names)
    affinity = pod.shape.node_affinity
    if affinity is None or affinity.required is None:
        return
    for text, required in _without_one_requirement(affinity.required):
        names = fits(with_shape(pod, node_affinity=dataclasses.replace(affinity, required=required)))
        if names:
            yield change_to(ChangeKind.SELECTOR, f"no required node affinity {text}", names)


def without_selector_label(pod: Pod, key: str) -> Pod:
    """Return the pod without one label of its nodeSelector."""
    selector: Mapping[str, str] = pod.shape.node_selector or {}
    left = {other: value for other, value in selector.items() if other != key}
    return with_shape(pod, node_selector=left or None)


def _without_one_requirement(selector: NodeSelector) -> Iterator[tuple[str, NodeSelector | None]]:
    """Yield each requirement as text, and the selector without it; None if the removal empties a term."""
    for index, term in enumerate(selector.terms):
        for requirement in (*term.expressions, *term.fields):
            left = NodeSelectorTerm(
                tuple(each for each in term.expressions if each is not requirement),
                tuple(each for each in term.fields if each is not requirement),
                term.error,
            )
            terms = (*selector.terms[:index], left, *selector.terms[index + 1 :])
            yield str(requirement), None if left.is_empty else NodeSelector(terms)


def _weaker_spread(pod: Pod, snapshot: Snapshot, fits: Fits) -> Iterator[Counterfactual]:
    """Raise one maxSkew as little as possible; if no maxSkew helps, make the constraint ScheduleAnyway."""
    highest = int(snapshot.pod_count.sum()) + 1 if snapshot.size else 0
    for index, constraint in enumerate(pod.shape.spread_constraints):
        if constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
            continue

        def trial(max_skew: int, index: int = index) -> Pod:
            return _with_constraint(pod, index, max_skew=max_skew)

        key = constraint.topology_key
        found = _first_that_fits(range(constraint.max_skew + 1, highest + 1), trial, fits)
        if found is not None:
            max_skew, names = found
            text = f"maxSkew {max_skew} instead of {constraint.max_skew} for {key}"
            yield change_to(ChangeKind.SPREAD, text, names, max_skew - constraint.max_skew)
        elif names := fits(_with_constraint(pod, index, when_unsatisfiable=SCHEDULE_ANYWAY)):
            text = f"{SCHEDULE_ANYWAY} instead of {DO_NOT_SCHEDULE} for {key}"
            yield change_to(ChangeKind.SPREAD, text, names, float(highest))


def _fewer_affinity_terms(pod: Pod, fits: Fits) -> Iterator[Counterfactual]:
    """Remove one required term of the pod's affinity or anti-affinity."""
    terms = pod.shape.pod_affinity
    affinity = [
        ("affinity", term, dataclasses.replace(terms, required_affinity=left))
        for term, left in _without_one(terms.required_affinity)
    ]
    anti_affinity = [
        ("anti-affinity", term, dataclasses.replace(terms, required_anti_affinity=left))
        for term, left in _without_one(terms.required_anti_affinity)
    ]
    for word, term, left in affinity + anti_affinity:
        names = fits(with_shape(pod, pod_affinity=left))
        if names:
            yield change_to(ChangeKind.AFFINITY, f"no required pod {word} to {_term_text(term)}", names)


def _without_one(terms: tuple[AffinityTerm, ...]) -> Iterator[tuple[AffinityTerm, tuple[AffinityTerm, ...]]]:
    """Yield each term together with all other terms."""
    for index, term in enumerate(terms):
        yield term, terms[:index] + terms[index + 1 :]


def _first_that_fits(values: Iterable[int], trial: Callable[[int], Pod], fits: Fits) -> tuple[int, list[str]] | None:
    """Return the first value for which the pod fits, and its nodes; None if it fits for no value.

    The order of the values matters: a pod that fits for one value must also fit for all later values.
    """
    options = values if isinstance(values, range) else list(values)
    if not options:
        return None
    low, high = 0, len(options) - 1
    best = fits(trial(options[high]))
    if not best:
        return None
    while low < high:
        middle = (low + high) // 2
        names = fits(trial(options[middle]))
        if names:
            high, best = middle, names
        else:
            low = middle + 1
    return options[high], best


def _with_amount(requests: Resources, resource: str, amount: int) -> Resources:
    return Resources(tuple((name, amount if name == resource else each) for name, each in requests.amounts))


def _with_constraint(pod: Pod, index: int, **fields: Any) -> Pod:
    constraints: tuple[TopologySpreadConstraint, ...] = pod.shape.spread_constraints
    changed = dataclasses.replace(constraints[index], **fields)
    return with_shape(pod, spread_constraints=(*constraints[:index], changed, *constraints[index + 1 :]))


def _taint_text(taint: Taint) -> str:
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _term_text(term: AffinityTerm) -> str:
    requirements = term.selector.requirements if term.selector else ()
    labels = ", ".join(map(str, requirements)) or "all pods"
    return f"{labels} in the same {term.topology_key}"
