"""Metrics of the traffic with the API server: client-go's, and what informers and the recorder do."""

from prometheus_client import CollectorRegistry

from moorage.runtime.client.kube import NO_ANSWER
from moorage.runtime.metrics.collectors import Count, Counts, Distribution, Distributions

REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""client-go's, for requests and for the limiter."""


class ClientMetrics:
    """client-go's metrics of requests (component-base/metrics/prometheus/restclient)."""

    def __init__(self, registry: CollectorRegistry, host: str) -> None:
        """Register in `registry`; `host` is the API server's address without scheme."""
        self._host = host
        self._requests = Counts(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
            registry,
        )
        self._seconds = Distributions(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            REQUEST_BUCKETS,
            registry,
        )
        self._throttled_seconds = Distributions(
            "rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            REQUEST_BUCKETS,
            registry,
        )
        self._by_request: dict[tuple[str, int], tuple[Count, Distribution]] = {}
        self._by_verb: dict[str, Distribution] = {}

    def observe_request(self, verb: str, status: int, seconds: float) -> None:
        """Count an answer; `status` is NO_ANSWER where none came."""
        children = self._by_request.get((verb, status))
        if children is None:
            code = "<error>" if status == NO_ANSWER else str(status)
            counter = self._requests.labels(code, verb, self._host)
            children = self._by_request[verb, status] = counter, self._seconds.labels(verb, self._host)
        children[0].inc()
        children[1].observe(seconds)

    def observe_throttling(self, verb: str, seconds: float) -> None:
        """Count what a write waited for the client's own limit."""
        child = self._by_verb.get(verb)
        if child is None:
            child = self._by_verb[verb] = self._throttled_seconds.labels(verb, self._host)
        child.observe(seconds)


class InformerMetrics:
    """How the informers fare."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._relists = Counts("moorage_informer_lists", "Number of complete lists.", ("kind",), registry)
        self._ends = Counts(
            "moorage_informer_watch_ends",
            "Number of watches that ended, by how: ended (by the API server), expired, failed.",
            ("kind", "reason"),
            registry,
        )
        self._unreadable = Counts(
            "moorage_unreadable_objects",
            "Objects that could not be read and were skipped.",
            ("kind",),
            registry,
        )

    def observe_relist(self, kind: str) -> None:
        """Count a list."""
        self._relists.labels(kind).inc()

    def observe_watch_end(self, kind: str, reason: str) -> None:
        """Count the end of a watch."""
        self._ends.labels(kind, reason).inc()

    def observe_unreadable(self, kind: str) -> None:
        """Count an object that could not be read."""
        self._unreadable.labels(kind).inc()


class RecorderMetrics:
    """What becomes of events."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        events = Counts(
            "moorage_events",
            "Events by what became of them: sent, folded (into a series), dropped, refused.",
            ("result",),
            registry,
        )
        self._results = {result: events.labels(result) for result in ("sent", "folded", "dropped", "refused")}

    def observe_event(self, result: str) -> None:
        """Count an event."""
        self._results[result].inc()
