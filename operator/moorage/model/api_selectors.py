"""Label selectors and node selectors as the API server sends them."""

from __future__ import annotations

from msgspec import Struct


class ApiRequirement(Struct, frozen=True):
    """`metav1.LabelSelectorRequirement` and `v1.NodeSelectorRequirement`."""

    key: str
    operator: str
    values: list[str] | None = None


class ApiLabelSelector(Struct, frozen=True, rename="camel"):
    """`metav1.LabelSelector`."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[ApiRequirement] | None = None


class ApiNodeSelectorTerm(Struct, frozen=True, rename="camel"):
    """`v1.NodeSelectorTerm`."""

    match_expressions: list[ApiRequirement] | None = None
    match_fields: list[ApiRequirement] | None = None


class ApiNodeSelector(Struct, frozen=True, rename="camel"):
    """`v1.NodeSelector`."""

    node_selector_terms: list[ApiNodeSelectorTerm] | None = None
