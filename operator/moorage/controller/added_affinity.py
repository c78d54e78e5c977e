"""Compiles filters to the argument addedAffinity of NodeAffinity, as far as node affinity can express them.

So an unschedulable pod gets kube-scheduler's own reason, which users and cluster autoscalers know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.api.policy_filters import FiltersSection, is_pattern
from moorage.model.selectors import Requirement

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def added_affinity(filters: FiltersSection, written: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a `v1.NodeAffinity` with the filters and `written`, the policy's own addedAffinity.

    Return None if `written` must stay as it is: there are no filters, or the plugin will refuse it. Node selector terms
    are alternatives, so each of them gets the filters.
    """
    ours = [expression for _, expression in _expressions(filters)]
    if not ours or not _is_node_affinity(written):
        return None
    affinity = dict(written or {})
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    joined = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *ours]} for term in terms]
    return {**affinity, _REQUIRED: {"nodeSelectorTerms": joined}}


def filter_fields(filters: FiltersSection) -> dict[str, str]:
    """Return the field of `spec` behind each requirement of the filters, as `str(Requirement)` writes it."""
    fields: dict[str, str] = {}
    for name, expression in _expressions(filters):
        requirement = Requirement(expression["key"], expression["operator"], frozenset(expression.get("values", ())))
        fields.setdefault(str(requirement), f"filters.{name}")
    return fields


def _is_node_affinity(written: Any) -> bool:
    """Return whether a policy's own addedAffinity has the form of a node affinity."""
    if written is None:
        return True
    required = written.get(_REQUIRED) if isinstance(written, Mapping) else ()
    terms = required.get("nodeSelectorTerms") if isinstance(required, Mapping) else required
    return terms is None or (
        isinstance(terms, list)
        and all(isinstance(term, Mapping) and isinstance(term.get("matchExpressions") or [], list) for term in terms)
    )


def _expressions(filters: FiltersSection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each requirement, with the name of its filter."""
    if filters.node_selector:
        for key, value in filters.node_selector.match_labels.items():
            yield "nodeSelector", _expression(key, "In", [value])
        for expression in filters.node_selector.match_expressions:
            yield "nodeSelector", _expression(expression.key, expression.operator, list(expression.values))
    if filters.zones:
        for bound in _bounds(ZONE, filters.zones.allow, filters.zones.deny):
            yield "zones", bound
    if types := filters.instance_types:
        exact = () if any(map(is_pattern, types.allow)) else types.allow
        denied = tuple(name for name in types.deny if not is_pattern(name))
        for bound in _bounds(INSTANCE_TYPE, exact, denied):
            yield "instanceTypes", bound


def _bounds(key: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if allow:
        yield _expression(key, "In", list(allow))
    if deny:
        yield _expression(key, "NotIn", list(deny))


def _expression(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": values} if values else {})}
