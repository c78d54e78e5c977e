"""Formats times as the Kubernetes API does."""

from datetime import UTC, datetime

import msgspec


def micro_time(seconds: float) -> str:
    """Return a `metav1.MicroTime`, as in events and leases: UTC with six decimals. `seconds` are since the epoch."""
    moment = datetime.fromtimestamp(seconds, UTC)
    if not moment.microsecond:
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    written: str = msgspec.to_builtins(moment)  # many times faster than strftime, but omits microseconds that are 0
    return written


def whole_time(seconds: float) -> str:
    """Return a `metav1.Time`, as in conditions: UTC in whole seconds. `seconds` are since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
