"""Our counters and histograms give the same text as prometheus_client's for the same values."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest

from moorage.runtime.metrics.collectors import Counts, Distribution, Distributions

BOUNDS = (0.001, 0.01, 1.0, 16.0)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.one_of(st.floats(0, 50), st.sampled_from(BOUNDS)))))
def test_our_metrics_give_the_same_text_as_prometheus_client(observed: Sequence[tuple[str, float]]) -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    counts = Counts("c", "Counted.", ("l",), ours)
    distributions = Distributions("h", "Distributed.", ("l",), BOUNDS, ours)
    counter = Counter("c", "Counted.", ("l",), registry=theirs)
    histogram = Histogram("h", "Distributed.", ("l",), buckets=BOUNDS, registry=theirs)
    for label, value in observed:
        counts.labels(label).inc(value)
        distributions.labels(label).observe(value)
        counter.labels(label).inc(value)
        histogram.labels(label).observe(value)
    assert generate_latest(ours) == generate_latest(theirs)


def test_metrics_without_labels_exist_from_the_start() -> None:
    registry = CollectorRegistry()
    Counts("c", "Counted.", (), registry)
    Distributions("h", "Distributed.", (), BOUNDS, registry)
    text = generate_latest(registry).decode()
    assert "c_total 0.0" in text
    assert 'h_bucket{le="+Inf"} 0.0' in text


def test_observe_all_counts_the_same_as_one_call_for_each_value() -> None:
    one, many = Distribution((0.1, 0.2)), Distribution((0.1, 0.2))
    values = [0.05, 0.1, 0.15, 0.2, 5.0]
    for value in values:
        one.observe(value)
    many.observe_all(values)
    many.observe_all([])

    assert (many.counts, many.sum) == (one.counts, one.sum)
