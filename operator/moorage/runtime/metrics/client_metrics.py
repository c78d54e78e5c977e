"""client-go's metrics of requests to the API server (component-base/metrics/prometheus/restclient)."""

from prometheus_client import CollectorRegistry

from moorage.runtime.metrics.collectors import Count, Counts, Distribution, Distributions

REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""client-go's buckets, for requests and for waits in the rate limiter."""


class ClientMetrics:
    """Metrics of requests, and of waits in the client's own rate limiter."""

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
        self._by_request: dict[tuple[str, int | None], tuple[Count, Distribution]] = {}
        self._by_verb: dict[str, Distribution] = {}

    def observe_request(self, verb: str, status: int | None, seconds: float) -> None:
        """Count a request; `status` is None if no answer came."""
        children = self._by_request.get((verb, status))
        if children is None:
            code = "<error>" if status is None else str(status)
            counter = self._requests.labels(code, verb, self._host)
            children = self._by_request[verb, status] = counter, self._seconds.labels(verb, self._host)
        children[0].inc()
        children[1].observe(seconds)

    def observe_throttling(self, verb: str, seconds: float) -> None:
        """Count the time that a write waited in the client's own rate limiter."""
        child = self._by_verb.get(verb)
        if child is None:
            child = self._by_verb[verb] = self._throttled_seconds.labels(verb, self._host)
        child.observe(seconds)
