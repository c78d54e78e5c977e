"""What is measured, and where it comes together: one registry for a process, made by whoever composes it.

kube-scheduler's and client-go's metrics have their own names and labels (`profile` is the schedulerName), so that
existing dashboards work; moorage's own begin with `moorage_`. No label names a pod or a node: the number of series does
not grow with the cluster.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

import moorage
from moorage.runtime.metrics.client import ClientMetrics, InformerMetrics, RecorderMetrics
from moorage.runtime.metrics.extenders import ExtenderMetrics
from moorage.runtime.metrics.scheduling import SchedulingMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Of what `render` returns."""


class Metrics:
    """All metrics of a process."""

    def __init__(self, host: str) -> None:
        """Register everything; `host` is the API server's, for client-go's labels."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self.scheduling = SchedulingMetrics(self._registry)
        self.client = ClientMetrics(self._registry, host)
        self.informers = InformerMetrics(self._registry)
        self.recorder = RecorderMetrics(self._registry)
        self.extenders = ExtenderMetrics(self._registry)
        ProcessCollector(registry=self._registry)
        build = Gauge("moorage_build_info", "The running version.", ("version", "python"), registry=self._registry)
        build.labels(moorage.__version__, platform.python_version()).set(1)

    def read_at_scrape(
        self, name: str, documentation: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        """Register a gauge that `read` gives the values of, by label values, whenever somebody scrapes."""
        self._registry.register(_Scraped(name, documentation, labels, read))

    def render(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _Scraped(Collector):
    """A gauge whose values live elsewhere."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        self._describe = (name, documentation, tuple(labels))
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        name, documentation, labels = self._describe
        family = GaugeMetricFamily(name, documentation, labels=labels)
        for values, amount in self._read().items():
            family.add_metric(values, amount)
        yield family

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Name it without reading: what is read may not exist yet when the gauge is registered."""
        name, documentation, labels = self._describe
        yield GaugeMetricFamily(name, documentation, labels=labels)
