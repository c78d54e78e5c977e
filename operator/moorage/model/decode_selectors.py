"""Selectors: from the wire to what matches.

A label selector that cannot be read raises ValueError: nothing may be decided by half a selector. A node selector term
keeps its error instead, as kube-scheduler keeps it: the other terms of the selector still count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from moorage.model.pods.api_constraints import ApiLabelSelector, ApiNodeSelector, ApiNodeSelectorTerm, ApiRequirement
from moorage.model.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement, parse_int64

_SET_OPERATORS = frozenset({"In", "NotIn"})
_BARE_OPERATORS = frozenset({"Exists", "DoesNotExist"})
_NUMBER_OPERATORS = frozenset({"Gt", "Lt"})
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_LABEL_VALUE_LENGTH = 63


def label_selector(wire: ApiLabelSelector | None) -> LabelSelector | None:
    """Return the selector with its requirements in a fixed order, so that equal ones are equal; None stays None."""
    if wire is None:
        return None
    requirements = labels_as_requirements(wire.match_labels or {})
    for index, expression in enumerate(wire.match_expressions or ()):
        if expression.operator not in _SET_OPERATORS | _BARE_OPERATORS or _values_error(expression):
            count = len(expression.values or ())
            raise ValueError(f"matchExpressions[{index}]: {expression.operator!r} with {count} values is not valid")
        requirements.append(_requirement(expression))
    return LabelSelector(ordered(requirements))


def labels_as_requirements(labels: Mapping[str, str]) -> list[Requirement]:
    """Return one equality a label."""
    return [Requirement(key, "In", frozenset((value,))) for key, value in labels.items()]


def ordered(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """Return the requirements without repeats, in a fixed order."""
    return tuple(sorted(dict.fromkeys(requirements), key=lambda each: (each.key, each.operator, sorted(each.values))))


def node_selector(wire: ApiNodeSelector) -> NodeSelector:
    """Return the selector, its terms in the order of the wire."""
    return NodeSelector(tuple(node_selector_term(term) for term in wire.node_selector_terms or ()))


def node_selector_term(wire: ApiNodeSelectorTerm) -> NodeSelectorTerm:
    """Return the term; what cannot be read is said in its `error`, by a path inside the term."""
    expressions, fields = wire.match_expressions or (), wire.match_fields or ()
    errors = [
        *(error for index, each in enumerate(expressions) if (error := _expression_error(index, each))),
        *(error for index, each in enumerate(fields) if (error := _field_error(index, each))),
    ]
    return NodeSelectorTerm(
        expressions=tuple(map(_requirement, expressions)),
        fields=tuple(map(_requirement, fields)),
        error=errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "",
    )


def _requirement(wire: ApiRequirement) -> Requirement:
    return Requirement(wire.key, wire.operator, frozenset(wire.values or ()))


def _values_error(wire: ApiRequirement) -> str:
    """Say what is wrong with the number of values for the operator (upstream `labels.NewRequirement`)."""
    count = len(wire.values or ())
    if wire.operator in _SET_OPERATORS and not count:
        return "for 'in', 'notin' operators, values set can't be empty"
    if wire.operator in _BARE_OPERATORS and count:
        return "values set must be empty for exists and does not exist"
    if wire.operator in _NUMBER_OPERATORS and count != 1:
        return "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""


def _expression_error(index: int, wire: ApiRequirement) -> str:
    path = f"matchExpressions[{index}]"
    if wire.operator not in _SET_OPERATORS | _BARE_OPERATORS | _NUMBER_OPERATORS:
        return f'{path}.operator: Unsupported value: "{wire.operator}": not a valid selector operator'
    values = wire.values or []
    if error := _values_error(wire):
        return f"{path}.values: Invalid value: {_go_list(values)}: {error}"
    if wire.operator in _NUMBER_OPERATORS and parse_int64(values[0]) is None:
        return (
            f"{path}.values[0]: Invalid value: \"{values[0]}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )
    for position, value in enumerate(values):
        if error := _label_value_error(value):
            return f'{path}.values[{position}][{wire.key}]: Invalid value: "{value}": {error}'
    return ""


def _field_error(index: int, wire: ApiRequirement) -> str:
    """Say what is wrong with a field requirement: only `metadata.name` In or NotIn one value can be asked for."""
    path = f"matchFields[{index}]"
    if wire.operator not in _SET_OPERATORS:
        return f'{path}.operator: Unsupported value: "{wire.operator}": not a valid selector operator'
    if wire.key != "metadata.name":
        return f'{path}.key: Invalid value: "{wire.key}": not a valid field selector key'
    if len(wire.values or ()) != 1:
        return f"{path}.values: Required value: must have one element"
    return ""


def _label_value_error(value: str) -> str:
    """Word the fault of a label value as `validation.IsValidLabelValue` does."""
    if len(value) > _LABEL_VALUE_LENGTH:
        return f"must be no more than {_LABEL_VALUE_LENGTH} bytes"
    if _LABEL_VALUE.fullmatch(value):
        return ""
    return (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
        f"validation is '{_LABEL_VALUE.pattern}')"
    )


def _go_list(values: Sequence[str]) -> str:
    """Write strings as Go's `%#v` of a JSON list."""
    return "[" + ",".join(f'"{value}"' for value in values) + "]"
