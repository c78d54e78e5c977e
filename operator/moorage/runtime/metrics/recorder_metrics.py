"""Metrics of the event recorder."""

from prometheus_client import CollectorRegistry

from moorage.runtime.metrics.collectors import Counts

RESULTS = ("sent", "folded", "dropped", "refused")


class RecorderMetrics:
    """Counts events by result."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        events = Counts(
            "moorage_events",
            "Events by result: sent, folded (into a series), dropped, refused.",
            ("result",),
            registry,
        )
        self._results = {result: events.labels(result) for result in RESULTS}

    def observe_event(self, result: str) -> None:
        """Count an event; `result` is one of RESULTS."""
        self._results[result].inc()
