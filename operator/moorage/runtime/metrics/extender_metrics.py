"""Metrics of extenders by urlPrefix: calls, their duration, and the state of circuit breakers."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

STATES = ("closed", "open", "half-open")
SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30)
"""From a call to a neighbouring extender to the time limit of a whole cycle."""


class ExtenderMetrics:
    """Metrics of extenders."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._calls = Counter(
            "moorage_extender_calls_total", "Calls of extenders.", ("extender", "verb", "result"), registry=registry
        )
        self._seconds = Histogram(
            "moorage_extender_call_duration_seconds",
            "How long calls of extenders took.",
            ("extender", "verb"),
            buckets=SECONDS,
            registry=registry,
        )
        self._state = Gauge(
            "moorage_extender_circuit_breaker",
            "1 for the state that an extender's circuit breaker is in.",
            ("extender", "state"),
            registry=registry,
        )

    def observe_extender_call(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """Count a call; `result` is `success`, `error`, `timeout`, or `refused` by the circuit breaker."""
        self._calls.labels(extender, verb, result).inc()
        self._seconds.labels(extender, verb).observe(seconds)

    def observe_extender_state(self, extender: str, state: str) -> None:
        """Set the state of its circuit breaker: `closed`, `open` or `half-open`."""
        for each in STATES:
            self._state.labels(extender, each).set(each == state)
