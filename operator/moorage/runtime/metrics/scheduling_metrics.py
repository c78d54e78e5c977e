"""kube-scheduler's metrics of attempts, queues and preemption (upstream pkg/scheduler/metrics/metrics.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.cluster_events import ClusterEvent
from moorage.runtime.metrics.collectors import Counts, Distributions, exponential

if TYPE_CHECKING:
    from collections.abc import Collection

    from prometheus_client import CollectorRegistry

    from moorage.engine.messages import Message
    from moorage.runtime.metrics.collectors import Count, Distribution

MOST_ATTEMPTS = 15
"""From this number of attempts on, the label `attempts` is `15+`."""


class SchedulingMetrics:
    """Metrics of attempts, bound pods, preemptions and inbox messages."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register in `registry`."""
        self._attempts = Counts(
            "scheduler_schedule_attempts",
            "Number of attempts to schedule pods, by result.",
            ("result", "profile"),
            registry,
        )
        self._attempt_seconds = Distributions(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency (algorithm + binding).",
            ("result", "profile"),
            exponential(0.001, 2, 15),
            registry,
        )
        self._algorithm_seconds = Distributions(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency.",
            (),
            exponential(0.001, 2, 15),
            registry,
        ).labels()
        self._sli_seconds = Distributions(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Latency of a pod from when it could first be tried until it is bound, all attempts included.",
            ("attempts",),
            exponential(0.01, 2, 20),
            registry,
        )
        self._pod_attempts = Distributions(
            "scheduler_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            (),
            exponential(1, 2, 5),
            registry,
        ).labels()
        self._flushed = Counts(
            "scheduler_pod_scheduled_after_flush",
            "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout"
            ". This metric helps detect potential queueing hint misconfigurations or event handling issues.",
            (),
            registry,
        ).labels()
        self._preemptions = Counts(
            "scheduler_preemption_attempts", "Total preemption attempts in the cluster till now.", (), registry
        ).labels()
        self._victims = Distributions(
            "scheduler_preemption_victims",
            "Number of selected preemption victims.",
            (),
            exponential(1, 2, 7),
            registry,
        ).labels()
        self._message_seconds = Distributions(
            "scheduler_event_handling_duration_seconds",
            "Event handling latency.",
            ("event",),
            exponential(0.0001, 2, 12),
            registry,
        )
        self._shadows = Counts(
            "moorage_shadow_decisions",
            "Number of decisions of policies in mode Shadow, by how they compare with the real decisions.",
            ("profile", "verdict"),
            registry,
        )
        self._faults = Counts("moorage_loop_faults", "Unexpected errors in the scheduling loop.", (), registry).labels()
        self._by_result: dict[tuple[str, str], tuple[Count, Distribution]] = {}
        self._by_attempts: dict[int, Distribution] = {}
        self._by_message: dict[str, Distribution] = {}

    def observe_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count an attempt; `result` is `scheduled`, `unschedulable` or `error`."""
        key = result, profile
        children = self._by_result.get(key)
        if children is None:
            children = self._attempts.labels(*key), self._attempt_seconds.labels(*key)
            self._by_result[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def keep_profiles(self, profiles: Collection[str]) -> None:
        """Remove the series of all other profiles."""
        self._attempts.keep("profile", profiles)
        self._attempt_seconds.keep("profile", profiles)
        self._shadows.keep("profile", profiles)
        self._by_result.clear()

    def observe_decision(self, seconds: float) -> None:
        """Count the engine's decision about one pod."""
        self._algorithm_seconds.observe(seconds)

    def observe_bound(self, attempts: int, seconds: float) -> None:
        """Count a bound pod; `seconds` is the time since the pod could first be tried."""
        self._pod_attempts.observe(attempts)
        attempts = min(attempts, MOST_ATTEMPTS)
        child = self._by_attempts.get(attempts)
        if child is None:
            label = str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
            child = self._by_attempts[attempts] = self._sli_seconds.labels(label)
        child.observe(seconds)

    def observe_flushed(self) -> None:
        """Count a bound pod that the queue tried again only because the pod had waited too long as unschedulable."""
        self._flushed.inc()

    def observe_shadow(self, profile: str, verdict: str) -> None:
        """Count a decision of a policy in mode Shadow."""
        self._shadows.labels(profile, verdict).inc()

    def observe_preemption(self, victims: int) -> None:
        """Count a preemption and its victims."""
        self._preemptions.inc()
        self._victims.observe(victims)

    def observe_message(self, message: Message, seconds: float) -> None:
        """Count a message that the engine applied."""
        label = message.label if isinstance(message, ClusterEvent) else type(message).__name__
        child = self._by_message.get(label)
        if child is None:
            child = self._by_message[label] = self._message_seconds.labels(label)
        child.observe(seconds)

    def observe_fault(self) -> None:
        """Count an unexpected error."""
        self._faults.inc()
