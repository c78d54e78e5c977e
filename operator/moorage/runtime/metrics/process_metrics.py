"""All metrics of a process, in one registry.

Metrics that kube-scheduler or client-go also have use the same names and labels, so that existing dashboards work. The
label `profile` is the schedulerName. All other metrics begin with `moorage_`. No label may name a pod or a node: the
number of series must not grow with the cluster.
"""

from __future__ import annotations

import platform
import time
from random import random
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

import moorage
from moorage.runtime.metrics.binding_metrics import BindingMetrics
from moorage.runtime.metrics.client_metrics import ClientMetrics
from moorage.runtime.metrics.collectors import bounded
from moorage.runtime.metrics.extender_metrics import ExtenderMetrics
from moorage.runtime.metrics.framework_metrics import FrameworkMetrics
from moorage.runtime.metrics.informer_metrics import InformerMetrics
from moorage.runtime.metrics.recorder_metrics import RecorderMetrics
from moorage.runtime.metrics.scheduling_metrics import SchedulingMetrics
from moorage.runtime.metrics.serving_metrics import ServingMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The content type of `ProcessMetrics.render`."""


class ProcessMetrics:
    """All metrics of a process."""

    def __init__(self, host: str, now: Callable[[], float] = time.perf_counter) -> None:
        """Register all metrics. `host` is the API server's host, for client-go's labels. `now` measures durations."""
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._preparations: list[Callable[[], None]] = []
        self.scheduling = SchedulingMetrics(self._registry)
        self.framework = FrameworkMetrics(self._registry, now, random)
        self.before_scrape(self.framework.count_all)
        self.binding = BindingMetrics(self._registry)
        self.client = ClientMetrics(self._registry, host)
        self.informers = InformerMetrics(self._registry)
        self.recorder = RecorderMetrics(self._registry)
        self.extenders = ExtenderMetrics(self._registry)
        self.serving = ServingMetrics(self._registry)
        ProcessCollector(registry=self._registry)
        build = Gauge("moorage_build_info", "The running version.", ("version", "python"), registry=self._registry)
        build.labels(moorage.__version__, platform.python_version()).set(1)

    def read_at_scrape(
        self, name: str, documentation: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        """Register a gauge. At each scrape, `read` returns its values by label values."""
        self._registry.register(ScrapedGauge(name, documentation, labels, read))

    def before_scrape(self, prepare: Callable[[], None]) -> None:
        """Call `prepare` at the beginning of each scrape."""
        self._preparations.append(prepare)

    def keep_profiles(self, profiles: Collection[str]) -> None:
        """Remove the series of all other profiles."""
        self.scheduling.keep_profiles(profiles)
        self.framework.keep_profiles(profiles)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        for prepare in self._preparations:
            prepare()
        return generate_latest(self._registry)


class ScrapedGauge(Collector):
    """A gauge whose values are read at each scrape."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        """Call `read` at each scrape."""
        self._describe = (name, documentation, tuple(labels))
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauge with its current values; prometheus_client calls this at each scrape."""
        name, documentation, labels = self._describe
        family = GaugeMetricFamily(name, documentation, labels=labels)
        for values, amount in self._read().items():
            family.add_metric([*map(bounded, values)], amount)
        yield family

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauge without values, because the values may not exist yet when the gauge is registered."""
        name, documentation, labels = self._describe
        yield GaugeMetricFamily(name, documentation, labels=labels)
