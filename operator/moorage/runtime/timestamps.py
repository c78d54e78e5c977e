"""Times as the API writes them."""

from datetime import UTC, datetime


def micro_time(seconds: float) -> str:
    """Return a `metav1.MicroTime`: UTC with six digits, as events and leases have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_time(seconds: float) -> str:
    """Return a `metav1.Time`: UTC in whole seconds, as conditions have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
