"""Counters and histograms for events that happen thousands of times a second.

prometheus_client's own take a lock and search the buckets at each step; a scheduler counts in one thread, about ten
numbers for each pod. Only the counting is our own; prometheus_client renders the text.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric


class Count:
    """One child of a counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        """Start at 0."""
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        """Add `amount`."""
        self.value += amount


class Distribution:
    """One child of a histogram: the number of values in each bucket, and their sum."""

    __slots__ = ("_bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Make a bucket up to each of `bounds`, and one beyond the last."""
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value; one that equals a bound belongs to the bucket below it, as in Prometheus."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.sum += value


class Counts(Collector):
    """A counter by labels. Without labels its one child exists from the start."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        """Register as `<name>_total`."""
        self._family = (name, documentation)
        self._labels = tuple(labels)
        self._children: dict[tuple[str, ...], Count] = {}
        registry.register(self)
        if not labels:
            self.labels()

    def labels(self, *values: str) -> Count:
        """Return the child for these labels. Keep it if it is used often."""
        return self._children.setdefault(values, Count())

    def collect(self) -> Iterator[Metric]:
        """Yield the current values; prometheus_client calls this at each scrape."""
        family = CounterMetricFamily(*self._family, labels=self._labels)
        for values, child in self._children.items():
            family.add_metric(values, child.value)
        yield family


class Distributions(Collector):
    """A histogram by labels. Without labels its one child exists from the start."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], bounds: Sequence[float], registry: CollectorRegistry
    ) -> None:
        """Register with buckets up to each of `bounds`."""
        self._family = (name, documentation)
        self._labels = tuple(labels)
        self._bounds = tuple(bounds)
        self._children: dict[tuple[str, ...], Distribution] = {}
        registry.register(self)
        if not labels:
            self.labels()

    def labels(self, *values: str) -> Distribution:
        """Return the child for these labels. Keep it if it is used often."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = Distribution(self._bounds)
        return child

    def collect(self) -> Iterator[Metric]:
        """Yield the current values; prometheus_client calls this at each scrape."""
        family = HistogramMetricFamily(*self._family, labels=self._labels)
        names = [*map(str, self._bounds), "+Inf"]
        for values, child in self._children.items():
            buckets = list(zip(names, accumulate(child.counts), strict=True))
            family.add_metric(values, buckets, child.sum)
        yield family
