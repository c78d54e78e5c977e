"""Reads metrics as Prometheus does."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from moorage.runtime.metrics.process_metrics import ProcessMetrics


def sample(metrics: ProcessMetrics, name: str, **labels: str) -> float:
    """Return the value of a sample, or 0 if it does not exist."""
    for family in text_string_to_metric_families(metrics.render().decode()):
        for each in family.samples:
            if each.name == name and each.labels == labels:
                return float(each.value)
    return 0.0
