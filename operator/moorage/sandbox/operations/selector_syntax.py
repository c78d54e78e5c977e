"""Parses the label and field selectors of list and watch requests to predicates. Matches metav1.LabelSelectors.

Upstream: staging/src/k8s.io/apimachinery/pkg/{labels,fields}/selector.go.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from moorage.sandbox.api_status import StatusError, bad_request
from moorage.sandbox.kinds.resource_types import EVENTS, NAMESPACES, NODES, PODS
from moorage.sandbox.objects import Object, dig, metadata

Predicate: TypeAlias = Callable[[Object], bool]
"""Returns whether a selector matches an object."""

_LabelTest: TypeAlias = Callable[[Mapping[str, str]], bool]

_SET_BASED = re.compile(r"^(?P<key>[^\s!=,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUALITY = re.compile(r"^(?P<key>[^\s!=,()<>]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s!=,()<>]*)$")
_EXISTENCE = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^\s!=,()<>]+)$")
_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")

_POD_FIELDS = frozenset(
    {
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    }
)  # fmt: skip
_EVENT_FIELDS = frozenset(
    {f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")}
    | {f"regarding.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")}
    | {"reason", "type", "reportingComponent", "reportingController", "source"}
)
_FIELDS_BY_COLLECTION = {
    PODS: _POD_FIELDS,
    EVENTS: _EVENT_FIELDS,
    NODES: frozenset({"spec.unschedulable"}),
    NAMESPACES: frozenset({"status.phase"}),
    "secrets.": frozenset({"type"}),
    "resourceslices.resource.k8s.io": frozenset({"spec.nodeName", "spec.driver"}),
}


def label_predicate(text: str) -> Predicate | None:
    """Return the predicate of a labelSelector, or None if every object matches. Raises a 400."""
    tests = [_label_test(part.strip()) for part in _OUTSIDE_PARENTHESES.split(text) if part.strip()]
    if not tests:
        return None

    def matches(obj: Object) -> bool:
        labels = metadata(obj).get("labels") or {}
        return all(test(labels) for test in tests)

    return matches


def field_predicate(text: str, collection: str, selectable: frozenset[str] = frozenset()) -> Predicate | None:
    """Return the predicate of a fieldSelector for stored objects, or None if every object matches.

    `selectable` has the selectable fields of a custom kind. Raises a 400 if a field is not selectable.
    """
    known = {"metadata.name", "metadata.namespace"} | _FIELDS_BY_COLLECTION.get(collection, frozenset()) | selectable
    tests = [_field_test(part.strip(), known) for part in text.split(",") if part.strip()]
    return (lambda obj: all(test(obj) for test in tests)) if tests else None


def both_match(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    """Return a predicate for the objects that match both predicates. None matches every object."""
    if first is None or second is None:
        return first or second
    return lambda obj: first(obj) and second(obj)


def matches_selector(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a metav1.LabelSelector matches labels. An empty selector matches all labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_expression_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _expression_holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(expression.get("key") or "")
    values = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _label_test(text: str) -> _LabelTest:
    if found := _SET_BASED.match(text):
        key, values = found["key"], frozenset(value.strip() for value in found["values"].split(","))
        if found["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUALITY.match(text):
        key, value = found["key"], found["value"]
        if found["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTENCE.match(text):
        key, wanted = found["key"], not found["absent"]
        return lambda labels: (key in labels) is wanted
    raise _unparsable(text)


def _field_test(text: str, known: frozenset[str] | set[str]) -> Predicate:
    found = _EQUALITY.match(text)
    if found is None:
        raise _unparsable(text)
    name, value, equal = found["key"], found["value"], found["operator"] != "!="
    if name not in known:
        raise bad_request(f"field label not supported: {name}")
    path = _event_path(name).split(".")
    return lambda obj: (_as_text(dig(obj, *path)) == value) is equal


def _event_path(name: str) -> str:
    renamed = {"reportingController": "reportingComponent", "source": "source.component"}.get(name, name)
    return renamed.replace("regarding.", "involvedObject.")


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unparsable(text: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {text!r}")
