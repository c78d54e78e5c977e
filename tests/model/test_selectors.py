"""Label selectors and node selector terms: matching and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Object, make, make_pod, pod_object
from moorage.model.selectors import LabelSelector, NodeSelectorTerm, Requirement, parse_int64

LABELS = {"app": "web", "rank": "7", "empty": ""}


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("app", "In", {"web", "db"}, True),
        ("app", "In", {"db"}, False),
        ("none", "In", {"web"}, False),
        ("empty", "In", {""}, True),
        ("app", "NotIn", {"db"}, True),
        ("app", "NotIn", {"web"}, False),
        ("none", "NotIn", {"web"}, True),
        ("app", "Exists", set(), True),
        ("none", "Exists", set(), False),
        ("app", "DoesNotExist", set(), False),
        ("none", "DoesNotExist", set(), True),
        ("rank", "Gt", {"6"}, True),
        ("rank", "Gt", {"7"}, False),
        ("rank", "Lt", {"8"}, True),
        ("rank", "Lt", {"-8"}, False),
        ("none", "Lt", {"8"}, False),
        ("app", "Gt", {"1"}, False),
        ("rank", "Gt", {"x"}, False),
        ("rank", "Gt", {"1", "2"}, False),
        ("app", "Near", {"web"}, False),
    ],
)
def test_operator_decides_whether_a_requirement_matches_the_labels(
    key: str, operator: str, values: set[str], *, expected: bool
) -> None:
    assert Requirement(key, operator, frozenset(values)).matches(LABELS) is expected


def test_selector_matches_labels_that_meet_all_its_requirements() -> None:
    web, db = (Requirement("app", "In", frozenset({value})) for value in ("web", "db"))
    assert LabelSelector().matches({})
    assert LabelSelector((web,)).matches(LABELS)
    assert not LabelSelector((web, db)).matches(LABELS)
    assert LabelSelector().is_empty
    assert not LabelSelector((web,)).is_empty


@given(st.integers(-(2**70), 2**70), st.sampled_from(["", "+"]), st.integers(0, 3))
def test_parse_int64_returns_none_for_a_number_outside_int64(number: int, plus: str, zeros: int) -> None:
    text = f"-{'0' * zeros}{-number}" if number < 0 else f"{plus}{'0' * zeros}{number}"
    assert parse_int64(text) == (number if -(2**63) <= number < 2**63 else None)


@pytest.mark.parametrize("text", ["", "+", "-", "1.0", " 1", "1_0", "0x1", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000])
def test_parse_int64_returns_none_for_text_that_go_does_not_parse(text: str) -> None:
    assert parse_int64(text) is None


def term_of(**body: Object | list[Object]) -> NodeSelectorTerm:
    required = {"nodeSelectorTerms": [body]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    node_affinity = make_pod(pod_object(affinity=affinity)).shape.node_affinity
    assert node_affinity is not None
    assert node_affinity.required is not None
    return node_affinity.required.terms[0]


def expression(operator: str, *values: str, key: str = "rank") -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"matchExpressions": [expression("In", "a")]}, ""),
        ({"matchExpressions": [expression("Exists"), expression("Lt", "08")]}, ""),
        ({"matchFields": [expression("NotIn", "n1", key="metadata.name")]}, ""),
        ({}, ""),
        (
            {"matchExpressions": [expression("In")]},
            "matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [expression("Exists", "a")]},
            'matchExpressions[0].values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (
            {"matchExpressions": [expression("Gt", "1", "2")]},
            (
                'matchExpressions[0].values: Invalid value: ["1","2"]: '
                "for 'Gt', 'Lt' operators, exactly one value is required"
            ),
        ),
        (
            {"matchExpressions": [expression("Gt", "many")]},
            (
                'matchExpressions[0].values[0]: Invalid value: "many": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (
            {"matchExpressions": [expression("In", "a"), expression("In", "x" * 64)]},
            f'matchExpressions[1].values[0][rank]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
        (
            {"matchExpressions": [expression("Near", "a")]},
            'matchExpressions[0].operator: Unsupported value: "Near": not a valid selector operator',
        ),
        (
            {"matchFields": [expression("Exists", key="metadata.name")]},
            'matchFields[0].operator: Unsupported value: "Exists": not a valid selector operator',
        ),
        (
            {"matchFields": [expression("In", "a", key="metadata.uid")]},
            'matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key',
        ),
        (
            {"matchExpressions": [expression("In")], "matchFields": [expression("In", key="metadata.name")]},
            (
                "[matchExpressions[0].values: Invalid value: []: "
                "for 'in', 'notin' operators, values set can't be empty, "
                "matchFields[0].values: Required value: must have one element]"
            ),
        ),
    ],
)
def test_invalid_node_selector_term_has_the_error_text_of_kube_scheduler(body: Object, error: str) -> None:
    assert term_of(**body).error == error


def test_label_selectors_are_equal_if_only_the_order_of_requirements_differs() -> None:
    app, tier = {"app": "web"}, expression("In", "b", "a", key="tier")
    first, second = (
        make("ReplicaSet", {"metadata": {"name": "r"}, "spec": {"selector": selector}}).selector
        for selector in (
            {"matchLabels": app, "matchExpressions": [tier]},
            {"matchExpressions": [expression("In", "a", "b", key="tier"), expression("In", "web", key="app")]},
        )
    )
    assert first == second
    assert hash(first) == hash(second)
