"""Compiles `spec.allowedNamespaces` to the selector that the engine checks."""

from __future__ import annotations

from moorage.api.namespace_selector import NamespaceSelector
from moorage.model.selectors import LabelSelector, Requirement


def compile_selector(selector: NamespaceSelector | None) -> LabelSelector | None:
    """Return the selector; None if the policy allows all namespaces."""
    if selector is None:
        return None
    labels = (Requirement(key, "In", frozenset({value})) for key, value in selector.match_labels.items())
    expressions = (
        Requirement(expression.key, expression.operator, frozenset(expression.values or ()))
        for expression in selector.match_expressions
    )
    return LabelSelector((*labels, *expressions))
