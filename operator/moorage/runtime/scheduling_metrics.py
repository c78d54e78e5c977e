"""kube-scheduler's metrics of attempts, queues and preemption (upstream pkg/scheduler/metrics/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

from moorage.framework.events import ClusterEvent

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from moorage.engine.inbox import Message

MOST_ATTEMPTS = 15
"""From here on the label `attempts` says `15+`."""


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bucket bounds as Go's `prometheus.ExponentialBuckets` makes them."""
    return tuple(start * factor**step for step in range(count))


class SchedulingMetrics:
    """Attempts, bound pods, preemptions, messages of the inbox."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._attempts = Counter(
            "scheduler_schedule_attempts",
            "Number of attempts to schedule pods, by result.",
            ("result", "profile"),
            registry=registry,
        )
        self._attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency (algorithm + binding).",
            ("result", "profile"),
            buckets=exponential(0.001, 2, 15),
            registry=registry,
        )
        self._algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency.",
            buckets=exponential(0.001, 2, 15),
            registry=registry,
        )
        self._sli_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Latency of a pod from when it could first be tried until it is bound, all attempts included.",
            ("attempts",),
            buckets=exponential(0.01, 2, 20),
            registry=registry,
        )
        self._pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            buckets=exponential(1, 2, 5),
            registry=registry,
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts", "Total preemption attempts in the cluster till now.", registry=registry
        )
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "Number of selected preemption victims.",
            buckets=exponential(1, 2, 7),
            registry=registry,
        )
        self._message_seconds = Histogram(
            "scheduler_event_handling_duration_seconds",
            "Event handling latency.",
            ("event",),
            buckets=exponential(0.0001, 2, 12),
            registry=registry,
        )
        self._faults = Counter(
            "moorage_loop_faults", "Errors in the scheduling loop that should not happen.", registry=registry
        )
        self._by_result: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        self._by_attempts: dict[int, Histogram] = {}
        self._by_message: dict[object, Histogram] = {}

    def observe_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count an attempt: `scheduled`, `unschedulable` or `error`."""
        key = result, profile
        children = self._by_result.get(key)
        if children is None:
            children = self._attempts.labels(*key), self._attempt_seconds.labels(*key)
            self._by_result[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def observe_decision(self, seconds: float) -> None:
        """Count what the engine took for one pod."""
        self._algorithm_seconds.observe(seconds)

    def observe_bound(self, attempts: int, seconds: float) -> None:
        """Count a bound pod: how many attempts, and how long since the first could have begun."""
        self._pod_attempts.observe(attempts)
        attempts = min(attempts, MOST_ATTEMPTS)
        child = self._by_attempts.get(attempts)
        if child is None:
            label = str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
            child = self._by_attempts[attempts] = self._sli_seconds.labels(label)
        child.observe(seconds)

    def observe_preemption(self, victims: int) -> None:
        """Count a preemption of that many victims."""
        self._preemptions.inc()
        self._victims.observe(victims)

    def observe_message(self, message: Message, seconds: float) -> None:
        """Count a message that the engine took in."""
        key = (message.kind, message.action) if isinstance(message, ClusterEvent) else type(message)
        child = self._by_message.get(key)
        if child is None:
            label = message.label if isinstance(message, ClusterEvent) else type(message).__name__
            child = self._by_message[key] = self._message_seconds.labels(label)
        child.observe(seconds)

    def observe_fault(self) -> None:
        """Count an error that should not have happened."""
        self._faults.inc()
