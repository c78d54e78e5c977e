"""Metrics of decisions that failed: stale decisions, and pods that kubelets refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.runtime.metrics.collectors import Counts

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class BindingMetrics:
    """Metrics of conflicts and refusals."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._conflicts = Counts(
            "moorage_binding_conflicts",
            "Decisions that were stale when the pod was to be bound: the pod or its node had changed (changed), the "
            "node had no room any more (room), or the pod was on another node (bound).",
            ("conflict",),
            registry,
        )
        self._refusals = Counts(
            "moorage_kubelet_refusals",
            "Bound pods that their kubelet refused because the node was full, by the pod's reason.",
            ("reason",),
            registry,
        )

    def observe_conflict(self, conflict: str) -> None:
        """Count a conflict: `changed`, `room` or `bound`."""
        self._conflicts.labels(conflict).inc()

    def observe_kubelet_refusal(self, reason: str) -> None:
        """Count a refused pod."""
        self._refusals.labels(reason).inc()
