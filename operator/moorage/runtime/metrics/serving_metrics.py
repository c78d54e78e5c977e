"""Metrics of the HTTP endpoints."""

from prometheus_client import CollectorRegistry

from moorage.runtime.metrics.collectors import Counts

LIMITS = ("connections", "handshake", "reviews")


class ServingMetrics:
    """Counts the requests and connections that are refused because of a limit."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        refused = Counts(
            "moorage_serving_refused",
            "Requests and connections that the HTTP endpoints refused, by limit: connections (the oldest is closed), "
            "handshake (not finished in time, or failed), reviews (too many callers without a known token).",
            ("limit",),
            registry,
        )
        self._refused = {limit: refused.labels(limit) for limit in LIMITS}

    def observe_refused(self, limit: str) -> None:
        """Count a refusal; `limit` is one of LIMITS."""
        self._refused[limit].inc()
