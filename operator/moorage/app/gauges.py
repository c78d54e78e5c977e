"""Gauges with values from the engine, the informers and the watchdog. The values are read at each scrape."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.engine.scheduler import Scheduler
from moorage.runtime.clock import Clock
from moorage.runtime.informers.informer import Informer
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.watchdog import Watchdog

QUEUES = frozenset({"active", "backoff", "unschedulable", "gated"})
"""kube-scheduler's queues. They do not contain pods in flight and held pods."""


def register_gauges(
    metrics: ProcessMetrics, scheduler: Scheduler, informers: Iterable[Informer], watchdog: Watchdog, clock: Clock
) -> None:
    """Register kube-scheduler's gauges, and gauges for silent watches and for stuck pods."""
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
        "Seconds since the API server last sent something, by kind.",
        ("kind",),
        lambda: {(informer.kind,): clock.monotonic() - informer.last_received for informer in informers},
    )
    metrics.read_at_scrape(
        "moorage_stuck_pods",
        "Pods that are ready to be scheduled, and have not been tried for too long.",
        (),
        lambda: {(): float(watchdog.stuck_pods)},
    )
