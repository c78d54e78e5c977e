"""Times as the API writes them."""

from datetime import UTC, datetime


def micro_time(seconds: float) -> str:
    """Return a `metav1.MicroTime`: UTC with six digits, as events and leases have it."""
    return f"{_naive(seconds).isoformat(timespec='microseconds')}Z"


def whole_time(seconds: float) -> str:
    """Return a `metav1.Time`: UTC in whole seconds, as conditions have it."""
    return f"{_naive(seconds).isoformat(timespec='seconds')}Z"


def _naive(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
