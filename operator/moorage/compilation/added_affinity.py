"""Compiles the filters that node affinity can express to the argument addedAffinity of NodeAffinity.

So an unschedulable pod gets kube-scheduler's own reason, which users and cluster autoscalers know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.api.policy_filters import FiltersSection, is_pattern
from moorage.errors import Location, path_of
from moorage.model.selectors import Requirement

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def added_affinity(filters: FiltersSection, written: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a `v1.NodeAffinity` with the filters and `written`, the policy's own addedAffinity.

    Return None, so that `written` stays unchanged, if there are no filters or if the plugin will refuse `written`. The
    terms of a node selector are alternatives, so each term gets the filters.
    """
    ours = [expression.requirement for expression in _expressions(filters)]
    if not ours or not _is_node_affinity(written):
        return None
    affinity = dict(written or {})
    joined = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *ours]} for term in _terms(affinity)]
    return {**affinity, _REQUIRED: {"nodeSelectorTerms": joined}}


def filter_fields(filters: FiltersSection) -> dict[str, str]:
    """Return the field of `spec` for each requirement of the filters. The keys are `str(Requirement)`."""
    fields: dict[str, str] = {}
    for each in _expressions(filters):
        values = frozenset(each.requirement.get("values", ()))
        requirement = Requirement(each.requirement["key"], each.requirement["operator"], values)
        fields.setdefault(str(requirement), path_of(each.source[:2]))
    return fields


def location_in_filters(filters: FiltersSection, written: Any, location: Location) -> Location | None:
    """Return the location, below `spec`, of the filter that was compiled to a part of addedAffinity.

    `location` is the location of this part in the plugin's arguments. Return None if the part comes from `written`,
    the policy's own addedAffinity.
    """
    match location:
        case (_, str(kind), _, int(term), "matchExpressions", int(index), *part) if kind == _REQUIRED:
            own = len(_terms(written or {})[term].get("matchExpressions") or ())
            return None if index < own else list(_expressions(filters))[index - own].location_of(tuple(part))
        case _:
            return None


def _terms(affinity: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the required terms, or one empty term if there are none."""
    return (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]


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


@dataclass(frozen=True, slots=True)
class _FilterExpression:
    """A requirement for a node label, with the locations of its parts in the policy."""

    requirement: dict[str, Any]
    source: Location
    values: tuple[Location, ...] = ()

    def location_of(self, part: Location) -> Location:
        """Return the location of a part of the requirement. The part is one value, the key, or the whole field."""
        match part:
            case ("values", int(index)):
                return self.values[index]
            case ("key",) if self.source[-2:-1] == ("matchExpressions",):
                return (*self.source, "key")
            case _:
                return self.source


def _expressions(filters: FiltersSection) -> Iterator[_FilterExpression]:
    here: Location = ("filters", "nodeSelector")
    if filters.node_selector:
        for key, value in filters.node_selector.match_labels.items():
            source = (*here, "matchLabels", key)
            yield _FilterExpression(_requirement(key, "In", [value]), source, (source,))
        for index, expression in enumerate(filters.node_selector.match_expressions):
            source = (*here, "matchExpressions", index)
            values = tuple((*source, "values", position) for position in range(len(expression.values)))
            requirement = _requirement(expression.key, expression.operator, list(expression.values))
            yield _FilterExpression(requirement, source, values)
    if filters.zones:
        yield from _bounds(ZONE, ("filters", "zones"), filters.zones.allow, filters.zones.deny)
    if types := filters.instance_types:
        allow = () if any(map(is_pattern, types.allow)) else types.allow
        yield from _bounds(INSTANCE_TYPE, ("filters", "instanceTypes"), allow, types.deny)


def _bounds(key: str, source: Location, allow: tuple[str, ...], deny: tuple[str, ...]) -> Iterator[_FilterExpression]:
    """Yield the requirements for the allowed and for the denied values, except patterns."""
    for operator, name, listed in (("In", "allow", allow), ("NotIn", "deny", deny)):
        exact = {index: value for index, value in enumerate(listed) if not is_pattern(value)}
        if exact:
            values = tuple((*source, name, index) for index in exact)
            yield _FilterExpression(_requirement(key, operator, list(exact.values())), (*source, name), values)


def _requirement(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": values} if values else {})}
