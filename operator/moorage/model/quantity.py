"""Parses quantities such as `100m`, `1.5Gi` or `1e3` exactly as the API server does.

The parser rounds amounts up (away from zero) to billionths and limits them to int64. Callers add amounts in billionths
and round once, at the end. Upstream: `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go`.
"""

from __future__ import annotations

import re
from functools import lru_cache

NANO = 10**9
"""Billionths in one unit."""

_INT64_MAX = 2**63 - 1
_NANO_PER_MILLI = 10**6
_NANO_DIGITS = 9
_CACHE_SIZE = 8192  # a usual cluster has fewer distinct amounts; a miss costs two microseconds
_MAX_EXPONENT = 64  # any number with a larger exponent exceeds int64

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[numkMGTPE]?|[KMGTPE]i|[eE](?P<exponent>[+-]?[0-9]+))",
    re.ASCII,
)
_DECIMAL_EXPONENT = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWER = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}

Amount = str | int | float
"""A quantity in JSON: usually a string; the API also accepts numbers."""

Amounts = dict[str, Amount]
"""Quantities by resource name."""


@lru_cache(maxsize=_CACHE_SIZE)
def nano_value(quantity: Amount) -> int:
    """Return the amount in billionths; raise ValueError if it is not a quantity."""
    match = _GRAMMAR.fullmatch(str(quantity))
    if match is None or not (match["whole"] or match["fraction"]):
        raise ValueError(f"{quantity!r} is not a quantity such as 100m, 1.5Gi or 1e3")
    fraction = match["fraction"] or ""
    number = int(match["whole"] + fraction)
    suffix = match["suffix"]
    if suffix in _BINARY_POWER:
        nano = min(_scaled(number << 10 * _BINARY_POWER[suffix], _NANO_DIGITS - len(fraction)), _INT64_MAX * NANO)
    else:
        exponent = int(match["exponent"]) if match["exponent"] else _DECIMAL_EXPONENT[suffix]
        nano = _scaled(number, _NANO_DIGITS - len(fraction) + exponent)
    return -nano if match["sign"] == "-" else nano


def value(quantity: Amount) -> int:
    """Return the amount in whole units, rounded up; raise ValueError if it is not a quantity."""
    return whole(nano_value(quantity))


def milli_value(quantity: Amount) -> int:
    """Return the amount in thousandths, rounded up; raise ValueError if it is not a quantity."""
    return milli(nano_value(quantity))


def whole(nano: int) -> int:
    """Round billionths up (away from zero) to whole units, limited to int64."""
    return _rounded_up(nano, NANO)


def milli(nano: int) -> int:
    """Round billionths up (away from zero) to thousandths, limited to int64."""
    return _rounded_up(nano, _NANO_PER_MILLI)


def _scaled(number: int, exponent: int) -> int:
    """Return number * 10**exponent, rounded up to a whole number; limit the exponent, because huge powers are slow."""
    if number == 0:
        return 0
    if exponent >= 0:
        factor: int = 10 ** min(exponent, _MAX_EXPONENT)
        return number * factor
    if -exponent > len(str(number)):
        return 1
    divisor: int = 10**-exponent
    return -(-number // divisor)


def _rounded_up(nano: int, unit: int) -> int:
    magnitude = min(-(-abs(nano) // unit), _INT64_MAX)
    return -magnitude if nano < 0 else magnitude
