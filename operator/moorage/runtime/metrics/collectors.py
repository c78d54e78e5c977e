"""Counters and histograms for events that happen thousands of times a second.

prometheus_client's counters and histograms take a lock for each value, and its histograms search the buckets one by
one. A scheduler counts about ten values for each pod, all in one thread. So this module counts with its own code.
prometheus_client still renders the text.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, repeat
from operator import mul
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from moorage.outside_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

MAX_CHILDREN = 5000
"""The largest number of children (combinations of label values) of one metric. Further label values share one child, so
that users cannot create an unlimited number of series."""
LABEL_CHARACTERS = 128
OTHER = "other"
"""The label values of the shared child."""


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
        """Make a bucket for each upper bound in `bounds`, and one more bucket for larger values."""
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value. A value that equals a bound belongs to the bucket with that upper bound, as in Prometheus."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def observe_all(self, values: Sequence[float]) -> None:
        """Count many values."""
        buckets = np.bincount(np.searchsorted(self._bounds, values), minlength=len(self.counts))
        self.counts = [count + more for count, more in zip(self.counts, buckets.tolist(), strict=True)]
        self.sum += sum(values)


Child = TypeVar("Child")


class _Children(Collector, Generic[Child]):
    """The children of a metric by label values. The number of children and the length of the values are limited."""

    def __init__(self, labels: Sequence[str], make: Callable[[], Child]) -> None:
        self._labels = tuple(labels)
        self._make = make
        self._children: dict[tuple[str, ...], Child] = {}
        if not labels:
            self.labels()

    def labels(self, *values: str) -> Child:
        """Return the child for these label values. Callers may store the child until `keep` removes it."""
        child = self._children.get(values)
        return child if child is not None else self._add(tuple(map(bounded, values)))

    def keep(self, label: str, values: Collection[str]) -> None:
        """Remove the children whose value of `label` is not in `values`."""
        position, kept = self._labels.index(label), set(map(bounded, values))
        self._children = {names: child for names, child in self._children.items() if names[position] in kept}

    def _add(self, values: tuple[str, ...]) -> Child:
        if values not in self._children and len(self._children) >= MAX_CHILDREN:
            values = (OTHER,) * len(values)
        return self._children.setdefault(values, self._make())


class Counts(_Children[Count]):
    """A counter with labels. A counter without labels has one child from the start."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        """Register as `<name>_total`."""
        super().__init__(labels, Count)
        self._family = (name, documentation)
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the current values; prometheus_client calls this at each scrape."""
        family = CounterMetricFamily(*self._family, labels=self._labels)
        for values, child in self._children.items():
            family.add_metric(values, child.value)
        yield family


class Distributions(_Children[Distribution]):
    """A histogram with labels. A histogram without labels has one child from the start."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], bounds: Sequence[float], registry: CollectorRegistry
    ) -> None:
        """Register with buckets up to each of `bounds`."""
        self._bounds = tuple(bounds)
        super().__init__(labels, lambda: Distribution(self._bounds))
        self._family = (name, documentation)
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the current values; prometheus_client calls this at each scrape."""
        family = HistogramMetricFamily(*self._family, labels=self._labels)
        names = [*map(str, self._bounds), "+Inf"]
        for values, child in self._children.items():
            buckets = list(zip(names, accumulate(child.counts), strict=True))
            family.add_metric(values, buckets, child.sum)
        yield family


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the bucket bounds of Go's `prometheus.ExponentialBuckets`, with its rounding."""
    return tuple(accumulate(repeat(factor, count - 1), mul, initial=start))


def bounded(value: str) -> str:
    """Return a label value without control characters, cut to LABEL_CHARACTERS."""
    return one_line(value, LABEL_CHARACTERS)
