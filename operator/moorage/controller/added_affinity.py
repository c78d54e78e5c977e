"""Filters that node affinity can express, as NodeAffinity's addedAffinity.

Written that way, a pod that they keep off every node carries kube-scheduler's own words for it, which people and
autoscalers know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.api.v1alpha1 import Filters

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PATTERN_CHARACTERS = frozenset("*?[")


def is_pattern(instance_type: str) -> bool:
    """Whether an entry is a shell pattern, and not the exact name of a type."""
    return not _PATTERN_CHARACTERS.isdisjoint(instance_type)


def added_affinity(filters: Filters, written: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a `v1.NodeAffinity` that holds the filters and what the policy wrote there itself, or None.

    Node selector terms are alternatives; so the filters go into every one of them.
    """
    ours = list(_expressions(filters))
    affinity = dict(written or {})
    if not ours:
        return affinity or None
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    joined = [{**term, "matchExpressions": [*term.get("matchExpressions", []), *ours]} for term in terms]
    return {**affinity, _REQUIRED: {"nodeSelectorTerms": joined}}


def _expressions(filters: Filters) -> Iterator[dict[str, Any]]:
    if filters.node_selector:
        for key, value in filters.node_selector.match_labels.items():
            yield _expression(key, "In", [value])
        for expression in filters.node_selector.match_expressions:
            yield _expression(expression.key, expression.operator, list(expression.values))
    if filters.zones:
        yield from _bounds(ZONE, filters.zones.allow, filters.zones.deny)
    if types := filters.instance_types:
        exact = () if any(map(is_pattern, types.allow)) else types.allow
        yield from _bounds(INSTANCE_TYPE, exact, tuple(name for name in types.deny if not is_pattern(name)))


def _bounds(key: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if allow:
        yield _expression(key, "In", list(allow))
    if deny:
        yield _expression(key, "NotIn", list(deny))


def _expression(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": values} if values else {})}
