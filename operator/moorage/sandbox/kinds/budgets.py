"""The rules of PodDisruptionBudgets: validation, and the number of pods that must stay healthy."""

import math
import re
from collections.abc import Iterator
from typing import Any

from moorage.sandbox.api_status import FieldError
from moorage.sandbox.objects import Object

_PERCENTAGE = re.compile(r"[0-9]+%")
_BOUNDS = ("minAvailable", "maxUnavailable")


def budget_errors(budget: Object) -> Iterator[FieldError]:
    """Yield the errors of a budget."""
    spec = budget["spec"]
    if all(name in spec for name in _BOUNDS):
        detail = "minAvailable and maxUnavailable cannot be both set"
        yield FieldError("spec", "FieldValueInvalid", spec, detail)
    for name in _BOUNDS:
        bound = spec.get(name)
        if isinstance(bound, str) and not _PERCENTAGE.fullmatch(bound):
            detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', or '93%')"
            yield FieldError(f"spec.{name}", "FieldValueInvalid", bound, detail)
        elif isinstance(bound, int) and bound < 0:
            yield FieldError(f"spec.{name}", "FieldValueInvalid", bound, "must be greater than or equal to 0")


def desired_healthy(spec: Object, expected: int) -> int:
    """Return how many of the `expected` pods must stay healthy. Percentages are rounded up."""
    if "maxUnavailable" in spec:
        return max(expected - _scaled(spec["maxUnavailable"], expected), 0)
    return _scaled(spec.get("minAvailable", 1), expected)


def _scaled(bound: Any, total: int) -> int:
    if isinstance(bound, str):
        return math.ceil(int(bound.removesuffix("%")) * total / 100)
    return int(bound)
