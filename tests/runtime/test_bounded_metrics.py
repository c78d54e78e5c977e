"""Limits on metrics: users can create only a limited number of series, and no label value can break a scrape."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from moorage.runtime.metrics import collectors
from moorage.runtime.metrics.collectors import Counts, Distributions
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from scrape import sample, series

ODD_NAMES = ["a" * 5000, "new\nline", 'quo"te\\', "\x1b[31mred", "nul\0", "\ud800", "ü", ""]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_label_value_is_cut_and_control_characters_are_removed(name: str) -> None:
    metrics = ProcessMetrics("api")
    metrics.scheduling.observe_attempt("scheduled", name, 0.1)
    metrics.extenders.observe_extender_call(name, "filter", "success", 0.1)
    metrics.extenders.observe_extender_state(name, "open")
    metrics.read_at_scrape("moorage_test", "A test.", ("plugin",), lambda: {(name,): 1.0})

    families = text_string_to_metric_families(metrics.render().decode())
    values = [value for family in families for each in family.samples for value in each.labels.values()]
    assert all(len(value) <= 128 and value.isprintable() for value in values)
    metrics.scheduling.keep_profiles({name})
    metrics.extenders.keep_extenders({name})
    assert len(series(metrics, "scheduler_schedule_attempts_total")) == 1
    assert len(series(metrics, "moorage_extender_circuit_breaker")) == 3


def test_a_metric_with_too_many_children_counts_further_label_values_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectors, "MAX_CHILDREN", 3)
    registry = CollectorRegistry()
    counts = Counts("c", "A counter.", ("a", "b"), registry)
    distributions = Distributions("d", "A histogram.", ("a",), (1.0,), registry)
    for number in range(10):
        counts.labels(str(number), "x").inc()
        distributions.labels(str(number)).observe(0.5)
    (family,) = counts.collect()
    assert {tuple(each.labels.values()): each.value for each in family.samples} == {
        ("0", "x"): 1,
        ("1", "x"): 1,
        ("2", "x"): 1,
        ("other", "other"): 7,
    }
    (family,) = distributions.collect()
    assert {each.labels["a"] for each in family.samples} == {"0", "1", "2", "other"}


def test_a_child_starts_at_zero_if_it_was_removed_and_is_used_again() -> None:
    metrics = ProcessMetrics("api")
    for name in ("gold", "silver"):
        metrics.scheduling.observe_attempt("scheduled", name, 0.1)
    metrics.scheduling.keep_profiles({"gold"})
    assert {labels["profile"] for labels in series(metrics, "scheduler_schedule_attempts_total")} == {"gold"}
    metrics.scheduling.observe_attempt("scheduled", "gold", 0.1)
    metrics.scheduling.observe_attempt("scheduled", "silver", 0.1)
    assert sample(metrics, "scheduler_schedule_attempts_total", result="scheduled", profile="gold") == 2
    assert sample(metrics, "scheduler_schedule_attempts_total", result="scheduled", profile="silver") == 1
