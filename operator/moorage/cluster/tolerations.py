"""Which taints a pod tolerates.

Upstream: staging/src/k8s.io/api/core/v1/toleration.go, ToleratesTaint; component-helpers/scheduling/corev1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from moorage.model.selectors import parse_int64

if TYPE_CHECKING:
    from moorage.model.node import Taint
    from moorage.model.pods.pod import Toleration

COMPARISON_OPERATORS = "TaintTolerationComparisonOperators"
"""The feature gate of the operators Gt and Lt; alpha, and off, in 1.36."""

DO_NOT_SCHEDULE_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep a pod off a node."""


def untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint], *, comparisons: bool = False) -> bool:
    """Whether one of the taints keeps a pod with these tolerations off the node."""
    return any(
        taint.effect in DO_NOT_SCHEDULE_EFFECTS and not tolerated(tolerations, taint, comparisons=comparisons)
        for taint in taints
    )


def tolerated(tolerations: Iterable[Toleration], taint: Taint, *, comparisons: bool = False) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint, comparisons=comparisons) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint, *, comparisons: bool = False) -> bool:
    """Whether the toleration tolerates the taint; `comparisons` says whether Gt and Lt are operators at all."""
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return comparisons and _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Compare the taint's value with the toleration's; what is no plain number tolerates nothing."""
    bound, value = _canonical_int64(toleration.value), _canonical_int64(taint.value)
    if bound is None or value is None:
        return False
    return value > bound if toleration.operator == "Gt" else value < bound


def _canonical_int64(text: str) -> int | None:
    """Read a decimal int64 that is written without a plus sign or leading zeros, or None."""
    number = parse_int64(text)
    return number if str(number) == text else None
