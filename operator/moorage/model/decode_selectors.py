"""Decodes label selectors and node selectors.

An invalid label selector raises ValueError, because a selector without one of its requirements would match too much.
An invalid term of a node selector stores its error text instead. The other terms still apply, as in kube-scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from moorage.model.api_selectors import ApiLabelSelector, ApiNodeSelector, ApiNodeSelectorTerm, ApiRequirement
from moorage.model.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement, parse_int64

_SET_OPERATORS = frozenset({"In", "NotIn"})
_BARE_OPERATORS = frozenset({"Exists", "DoesNotExist"})
_NUMBER_OPERATORS = frozenset({"Gt", "Lt"})
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_LABEL_VALUE_LENGTH = 63


def decode_label_selector(api: ApiLabelSelector | None) -> LabelSelector | None:
    """Return the selector with sorted requirements, so that selectors with the same requirements are equal.

    Return None if `api` is None.
    """
    if api is None:
        return None
    requirements = labels_as_requirements(api.match_labels or {})
    for index, expression in enumerate(api.match_expressions or ()):
        if expression.operator not in _SET_OPERATORS | _BARE_OPERATORS or _values_error(expression):
            count = len(expression.values or ())
            raise ValueError(f"matchExpressions[{index}]: {expression.operator!r} with {count} values is not valid")
        requirements.append(_requirement(expression))
    return LabelSelector(sorted_requirements(requirements))


def labels_as_requirements(labels: Mapping[str, str]) -> list[Requirement]:
    """Return one In requirement for each label."""
    return [Requirement(key, "In", frozenset((value,))) for key, value in labels.items()]


def sorted_requirements(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """Return the requirements sorted and without duplicates."""
    return tuple(sorted(dict.fromkeys(requirements), key=lambda each: (each.key, each.operator, sorted(each.values))))


def decode_node_selector(api: ApiNodeSelector) -> NodeSelector:
    """Return the selector with its terms in the order of the object."""
    return NodeSelector(tuple(decode_node_selector_term(term) for term in api.node_selector_terms or ()))


def decode_node_selector_term(api: ApiNodeSelectorTerm) -> NodeSelectorTerm:
    """Return the term; its `error` lists the invalid fields by their paths inside the term."""
    expressions, fields = api.match_expressions or (), api.match_fields or ()
    errors = [
        *(error for index, each in enumerate(expressions) if (error := _expression_error(index, each))),
        *(error for index, each in enumerate(fields) if (error := _field_error(index, each))),
    ]
    return NodeSelectorTerm(
        expressions=tuple(map(_requirement, expressions)),
        fields=tuple(map(_requirement, fields)),
        error=errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "",
    )


def _requirement(api: ApiRequirement) -> Requirement:
    return Requirement(api.key, api.operator, frozenset(api.values or ()))


def _values_error(api: ApiRequirement) -> str:
    """Return the error if the number of values is wrong, otherwise an empty text (upstream `labels.NewRequirement`)."""
    count = len(api.values or ())
    if api.operator in _SET_OPERATORS and not count:
        return "for 'in', 'notin' operators, values set can't be empty"
    if api.operator in _BARE_OPERATORS and count:
        return "values set must be empty for exists and does not exist"
    if api.operator in _NUMBER_OPERATORS and count != 1:
        return "for 'Gt', 'Lt' operators, exactly one value is required"
    return ""


def _expression_error(index: int, api: ApiRequirement) -> str:
    path = f"matchExpressions[{index}]"
    if api.operator not in _SET_OPERATORS | _BARE_OPERATORS | _NUMBER_OPERATORS:
        return f'{path}.operator: Unsupported value: "{api.operator}": not a valid selector operator'
    values = api.values or []
    if error := _values_error(api):
        return f"{path}.values: Invalid value: {_go_list(values)}: {error}"
    if api.operator in _NUMBER_OPERATORS and parse_int64(values[0]) is None:
        return (
            f"{path}.values[0]: Invalid value: \"{values[0]}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )
    for position, value in enumerate(values):
        if error := _label_value_error(value):
            return f'{path}.values[{position}][{api.key}]: Invalid value: "{value}": {error}'
    return ""


def _field_error(index: int, api: ApiRequirement) -> str:
    """Return the error in a field requirement, empty if there is none. Only metadata.name can be selected."""
    path = f"matchFields[{index}]"
    if api.operator not in _SET_OPERATORS:
        return f'{path}.operator: Unsupported value: "{api.operator}": not a valid selector operator'
    if api.key != "metadata.name":
        return f'{path}.key: Invalid value: "{api.key}": not a valid field selector key'
    if len(api.values or ()) != 1:
        return f"{path}.values: Required value: must have one element"
    return ""


def _label_value_error(value: str) -> str:
    """Return the error in a label value, in the words of `validation.IsValidLabelValue`; empty if there is none."""
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
    """Format strings as the JSON list that field errors of Kubernetes show."""
    return "[" + ",".join(f'"{value}"' for value in values) + "]"
