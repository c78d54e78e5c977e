"""Metrics of informers."""

from prometheus_client import CollectorRegistry

from moorage.runtime.metrics.collectors import Counts


class InformerMetrics:
    """Counts lists, ended watches, and objects that cannot be read."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._lists = Counts("moorage_informer_lists", "Number of complete lists.", ("kind",), registry)
        self._ends = Counts(
            "moorage_informer_watch_ends",
            "Watches that ended, by reason: ended (by the API server), expired, failed.",
            ("kind", "reason"),
            registry,
        )
        self._unreadable = Counts(
            "moorage_unreadable_objects",
            "Objects that could not be read and were skipped.",
            ("kind",),
            registry,
        )

    def observe_list(self, kind: str) -> None:
        """Count a list."""
        self._lists.labels(kind).inc()

    def observe_watch_end(self, kind: str, reason: str) -> None:
        """Count the end of a watch; `reason` is `ended`, `expired` or `failed`."""
        self._ends.labels(kind, reason).inc()

    def observe_unreadable(self, kind: str) -> None:
        """Count an object that cannot be read."""
        self._unreadable.labels(kind).inc()
