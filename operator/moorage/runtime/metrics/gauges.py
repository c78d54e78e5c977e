"""Gauges whose values live in the engine and in the informers: they are read when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.metrics.process_metrics import Metrics

QUEUES = frozenset({"active", "backoff", "unschedulable", "gated"})
"""kube-scheduler's queues; what is in flight or held is in none of them."""


class Watchdog(Protocol):
    """Knows the pods that nobody tries."""

    @property
    def stuck_pods(self) -> int:
        """How many there were when it last looked."""


def register(metrics: Metrics, scheduler: Scheduler, informers: Iterable[Informer], clock: Clock) -> None:
    """Register what kube-scheduler shows too, and how fresh the watches are."""
    metrics.read_at_scrape(
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type.",
        ("queue",),
        lambda: {(queue,): count for queue, count in scheduler.statistics.pending_pods().items() if queue in QUEUES},
    )
    metrics.read_at_scrape(
        "scheduler_unschedulable_pods",
        "The number of unschedulable pods broken down by plugin name.",
        ("plugin", "profile"),
        lambda: {(plugin, name): count for (plugin, name), count in scheduler.statistics.unschedulable_pods().items()},
    )
    metrics.read_at_scrape(
        "scheduler_cache_size",
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
        ("type",),
        lambda: {(kind,): size for kind, size in scheduler.statistics.cache_size().items()},
    )
    metrics.read_at_scrape(
        "moorage_watch_silence_seconds",
        "How long ago the API server was last heard of, by kind.",
        ("kind",),
        lambda: {(informer.kind,): clock.monotonic() - informer.last_heard for informer in informers},
    )


def register_watchdog(metrics: Metrics, watchdog: Watchdog) -> None:
    """Register the number of pods that are ready and that nobody tries."""
    metrics.read_at_scrape(
        "moorage_stuck_pods",
        "Pods that are ready to be scheduled, and have not been tried for too long.",
        (),
        lambda: {(): float(watchdog.stuck_pods)},
    )
