"""Metrics of extenders by urlPrefix: calls, their duration, and the state of circuit breakers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from moorage.runtime.metrics.collectors import Counts, Distributions, bounded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

STATES = ("closed", "open", "half-open")
SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30)
"""Bucket bounds in seconds. The lowest is the duration of a call to a nearby extender; the highest is the time limit of
a cycle."""


class ExtenderMetrics:
    """Metrics of extenders."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._calls = Counts("moorage_extender_calls", "Calls of extenders.", ("extender", "verb", "result"), registry)
        self._seconds = Distributions(
            "moorage_extender_call_duration_seconds",
            "Duration of calls of extenders, in seconds.",
            ("extender", "verb"),
            SECONDS,
            registry,
        )
        self._breakers = _BreakerStates()
        registry.register(self._breakers)

    def observe_extender_call(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """Count a call; `result` is `success`, `error`, `timeout`, or `refused` by the circuit breaker."""
        self._calls.labels(extender, verb, result).inc()
        self._seconds.labels(extender, verb).observe(seconds)

    def observe_extender_state(self, extender: str, state: str) -> None:
        """Set the state of the extender's circuit breaker: `closed`, `open` or `half-open`."""
        self._breakers.states[bounded(extender)] = state

    def keep_extenders(self, extenders: Collection[str]) -> None:
        """Remove the series of all other extenders."""
        self._calls.keep("extender", extenders)
        self._seconds.keep("extender", extenders)
        kept = set(map(bounded, extenders))
        self._breakers.states = {name: state for name, state in self._breakers.states.items() if name in kept}


class _BreakerStates(Collector):
    """The gauge of circuit breakers: 1 for the state that a breaker is in, 0 for the others."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauge; prometheus_client calls this at each scrape."""
        family = GaugeMetricFamily(
            "moorage_extender_circuit_breaker",
            "1 for the state that an extender's circuit breaker is in.",
            labels=("extender", "state"),
        )
        for extender, current in self.states.items():
            for state in STATES:
                family.add_metric((extender, state), state == current)
        yield family
