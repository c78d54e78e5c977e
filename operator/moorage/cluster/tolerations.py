"""Matches tolerations with taints.

Upstream: `staging/src/k8s.io/api/core/v1/toleration.go`, ToleratesTaint;
`component-helpers/scheduling/corev1/helpers.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from moorage.model.selectors import parse_int64

if TYPE_CHECKING:
    from moorage.model.node import Taint
    from moorage.model.pods.pod import Toleration

COMPARISON_OPERATORS = "TaintTolerationComparisonOperators"
"""The feature gate of the operators Gt and Lt; alpha and off by default in Kubernetes 1.36."""

DO_NOT_SCHEDULE_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep a pod away from a node."""


def untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint], *, comparisons: bool = False) -> bool:
    """Return whether a taint keeps a pod with these tolerations away from the node."""
    return any(
        taint.effect in DO_NOT_SCHEDULE_EFFECTS and not tolerated(tolerations, taint, comparisons=comparisons)
        for taint in taints
    )


def tolerated(tolerations: Iterable[Toleration], taint: Taint, *, comparisons: bool = False) -> bool:
    """Return whether one of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint, comparisons=comparisons) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint, *, comparisons: bool = False) -> bool:
    """Return whether the toleration tolerates the taint; `comparisons` enables the operators Gt and Lt."""
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return comparisons and _compare(toleration, taint)
        case _:
            return False


def _compare(toleration: Toleration, taint: Taint) -> bool:
    """Return whether Gt or Lt holds between two integers; False if a value is not a canonical integer."""
    bound, value = _canonical_int64(toleration.value), _canonical_int64(taint.value)
    if bound is None or value is None:
        return False
    return value > bound if toleration.operator == "Gt" else value < bound


def _canonical_int64(text: str) -> int | None:
    """Parse a decimal int64; return None for other text, a plus sign or leading zeros."""
    number = parse_int64(text)
    return number if str(number) == text else None
