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


def series(metrics: ProcessMetrics, name: str = "") -> list[dict[str, str]]:
    """Return the labels of all samples with this name, or of all samples, each with its name as `__name__`."""
    families = text_string_to_metric_families(metrics.render().decode())
    samples = (each for family in families for each in family.samples if name in {"", each.name})
    return [dict(each.labels) if name else {"__name__": each.name, **each.labels} for each in samples]
