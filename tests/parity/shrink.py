"""Removes parts of a case while the decisions of moorage and kube-scheduler still differ."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from parity.case_mutations import IDENTITY, OBJECT_LISTS, Case

Step = tuple[Any, ...]
"""The path of a removed part, such as `("pods", 3)`."""
Differing = Callable[[Iterable[Case]], dict[str, frozenset[str]]]
"""A function that returns the ids of the cases with different decisions, each with the differing fields."""
BATCH = 48
"""The number of cases in one run of the oracle. Starting the oracle takes most of the time."""


def shrink(case: Case, differing: Differing) -> Case:
    """Return the smallest case in which at least one of the differing fields still differs."""
    fields = differing([case]).get(case["id"], frozenset())
    shrunk = True
    while shrunk:
        shrunk = False
        for steps in _batches(_steps(case)):
            smaller = _without_any(case, steps, fields, differing)
            if smaller is not None:
                case, shrunk = smaller, True
                break
    return case


def _without_any(case: Case, steps: Sequence[Step], fields: frozenset[str], differing: Differing) -> Case | None:
    """Return the case without some of these parts; None if the difference needs every part.

    Tries to remove all dispensable parts together, then half of them, then one."""
    tried = {f"{case['id']}~{index}": _without(case, [step]) for index, step in enumerate(steps)}
    for name, smaller in tried.items():
        smaller["id"] = name
    found = differing(tried.values())
    dispensable = [step for name, step in zip(tried, steps, strict=True) if found.get(name, frozenset()) & fields]
    for kept in (dispensable, dispensable[: len(dispensable) // 2], dispensable[:1]):
        if kept:
            smaller = _without(case, kept)
            if differing([smaller]).get(case["id"], frozenset()) & fields:
                return smaller
    return None


def _steps(case: Case) -> list[Step]:
    """Return the paths of all removable parts, whole objects first."""
    whole: list[Step] = [(field,) for field in (*OBJECT_LISTS, "config", "featureGates") if case.get(field)]
    objects: list[Step] = [(field, index) for field in OBJECT_LISTS for index in range(len(case.get(field) or []))]
    inner: list[Step] = []
    for field in (*OBJECT_LISTS, "config", "pod"):
        inner += [(field, *path) for path in _paths(case.get(field))]
    return [*whole, *objects, *sorted(inner, key=len)]


def _paths(body: Any) -> Iterable[Step]:
    if isinstance(body, dict):
        for key, part in body.items():
            if key not in IDENTITY:
                yield (key,)
            yield from ((key, *path) for path in _paths(part))
    elif isinstance(body, list):
        for index, part in enumerate(body):
            yield (index,)
            yield from ((index, *path) for path in _paths(part))


def _without(case: Case, steps: Sequence[Step]) -> Case:
    smaller = copy.deepcopy(case)
    # Remove later elements of a list first, so that the indices of the others stay valid.
    for step in sorted(steps, key=lambda step: [str(key).zfill(4) for key in step], reverse=True):
        holder: Any = smaller
        try:
            for key in step[:-1]:
                holder = holder[key]
            del holder[step[-1]]
        except (KeyError, IndexError):
            continue  # an earlier step removed the parent
    return smaller


def _batches(steps: Sequence[Step]) -> Iterable[Sequence[Step]]:
    return [steps[start : start + BATCH] for start in range(0, len(steps), BATCH)]
