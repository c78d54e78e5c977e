"""Reports the result of each attempt in a condition and an event of the pod, in metrics, and in the profile's tally."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, assert_never

from moorage.engine.outcomes import HoldReason
from moorage.runtime.events.event import Event, cut_note, failed_scheduling, pod_reference, scheduled
from moorage.runtime.pod_status_writer import SCHEDULER_ERROR, UNSCHEDULABLE, PodScheduled
from moorage.runtime.shadow_tally import difference
from moorage.runtime.tally import rejections_by_field

if TYPE_CHECKING:
    from moorage.engine.outcomes import (
        Bind,
        Held,
        Misnamed,
        SchedulingFailed,
        ShadowDecision,
        Skipped,
        Unschedulable,
    )
    from moorage.framework.profile import Profile
    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.events.event_recorder import EventRecorder
    from moorage.runtime.metrics.scheduling_metrics import SchedulingMetrics
    from moorage.runtime.pod_status_writer import PodStatusWriter
    from moorage.runtime.tally import Tally

logger = logging.getLogger(__name__)

MISNAMED = "UnknownSchedulerName"
"""The reason of the event about a pod whose schedulerName is similar to the schedulerName of a policy."""
LIST_POLICIES = "(`kubectl get schedulingpolicies` lists the policies)"


class Reporter:
    """The reporter of attempts' results. `started_at` is the start of the attempt, on the monotonic clock."""

    def __init__(
        self,
        recorder: EventRecorder,
        statuses: PodStatusWriter,
        metrics: SchedulingMetrics,
        tally: Tally,
        clock: Clock,
    ) -> None:
        """Report through these parts."""
        self._recorder = recorder
        self._statuses = statuses
        self._metrics = metrics
        self._tally = tally
        self._clock = clock

    def report_bound(self, bind: Bind, started_at: float) -> None:
        """Report that a pod is bound. The API server sets the pod's condition itself."""
        self._recorder.record(scheduled(bind.pod, bind.node_name, bind.profile.name))
        if bind.attempts == 1:
            self._record_pod_warnings(bind.pod, bind.profile)
        self._end_errors(bind.profile)
        tally = self._tally.of(bind.profile)
        tally.bound += 1
        tally.failures_in_a_row = 0
        tally.last_bound_time = self._clock.time()
        self._observe("scheduled", bind.profile, started_at)
        self._metrics.observe_bound(bind.attempts, self._clock.monotonic() - bind.first_attempt_at)
        if bind.was_flushed:
            self._metrics.observe_flushed()

    def report_bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        """Report that a pod was not bound to the chosen node. The engine tries the pod again."""
        tally = self._tally.of(bind.profile)
        tally.failed += 1
        tally.failures_in_a_row += 1
        tally.last_failure = message
        self._report_error(bind.pod, f"binding rejected: {message}", bind.profile)
        self._observe("error", bind.profile, started_at)

    def report_unschedulable(self, outcome: Unschedulable, started_at: float) -> None:
        """Report why a pod fits on no node."""
        self._statuses.submit(outcome.pod, PodScheduled(UNSCHEDULABLE, outcome.message, outcome.nominated_node_name))
        self._recorder.record(failed_scheduling(outcome.pod, outcome.message, outcome.profile.name))
        if outcome.attempts == 1:
            self._record_pod_warnings(outcome.pod, outcome.profile)
        self._end_errors(outcome.profile)
        self._tally.of(outcome.profile).rejections = rejections_by_field(outcome.diagnosis, outcome.profile)
        self._observe("unschedulable", outcome.profile, started_at)

    def report_failed(self, outcome: SchedulingFailed, started_at: float) -> None:
        """Report that an attempt ended in an error. Log only the first of several errors in a row."""
        tally = self._tally.of(outcome.profile)
        if tally.errors_in_a_row == 0:
            message = "Scheduling pod %s with profile %s ended in an error; the pod is tried again: %s"
            logger.warning(message, outcome.pod.key, outcome.profile.name, outcome.message)
        tally.errors_in_a_row += 1
        tally.last_error = outcome.message
        self._report_error(outcome.pod, outcome.message, outcome.profile)
        self._observe("error", outcome.profile, started_at)

    def report_held(self, outcome: Held) -> None:
        """Report that a pod is held.

        Without this condition, an earlier one could keep the reason Unschedulable, and autoscalers would add nodes.
        """
        pod, reason, note = outcome.pod, outcome.reason, cut_note(_hold_note(outcome))
        self._statuses.submit(pod, PodScheduled(reason.value, note))
        self._record_waiting(pod, reason.value, note, pod.scheduler_name)

    def report_misnamed(self, outcome: Misnamed) -> None:
        """Report that a pod's schedulerName is similar to the schedulerName of a policy.

        The pod gets no condition, because it may belong to another scheduler.
        """
        name = outcome.pod.scheduler_name
        note = (
            f"No SchedulingPolicy has the schedulerName {name}; did you mean {outcome.similar_name}? "
            f"moorage leaves the pod to other schedulers {LIST_POLICIES}"
        )
        self._record_waiting(outcome.pod, MISNAMED, note, outcome.similar_name)

    def report_skipped(self, outcome: Skipped) -> None:
        """Report that a pod is not scheduled because it is being deleted."""
        self._recorder.record(failed_scheduling(outcome.pod, outcome.message, outcome.profile.name))

    def report_shadow(self, decision: ShadowDecision) -> None:
        """Count a decision of a policy in mode Shadow. Log at DEBUG how it differs from the real decision."""
        self._tally.of(decision.profile).shadow.count(decision)
        self._metrics.observe_shadow(decision.profile.name, decision.verdict.value)
        if decision.message:
            logger.debug("Shadow %s: %s", decision.profile.name, difference(decision, decision.pod.key))

    def _end_errors(self, profile: Profile) -> None:
        """Reset the number of errors in a row after an attempt without an error."""
        tally = self._tally.of(profile)
        if tally.errors_in_a_row:
            logger.info(
                "Profile %s schedules without errors again, after %d errors", profile.name, tally.errors_in_a_row
            )
            tally.errors_in_a_row = 0

    def _record_pod_warnings(self, pod: Pod, profile: Profile) -> None:
        """Record an event for each warning of a plugin about the pod."""
        for note in (note for plugin in profile.warning_plugins for note in plugin.pod_warnings(pod)):
            self._recorder.record(
                Event(
                    regarding=pod_reference(pod),
                    reason="NotUnderstood",
                    action="Scheduling",
                    note=note,
                    reporter=profile.name,
                    warning=True,
                )
            )

    def _record_waiting(self, pod: Pod, reason: str, note: str, reporter: str) -> None:
        """Record an event about a pod that has no live profile."""
        self._recorder.record(
            Event(
                regarding=pod_reference(pod),
                reason=reason,
                action="Scheduling",
                note=note,
                reporter=reporter,
                warning=reason != HoldReason.PAUSED.value,
            )
        )

    def _report_error(self, pod: Pod, message: str, profile: Profile) -> None:
        self._statuses.submit(pod, PodScheduled(SCHEDULER_ERROR, message))
        self._recorder.record(failed_scheduling(pod, message, profile.name))

    def _observe(self, result: str, profile: Profile, started_at: float) -> None:
        self._metrics.observe_attempt(result, profile.name, self._clock.monotonic() - started_at)


def _hold_note(outcome: Held) -> str:
    """Return why a pod is held, and the next step."""
    name = outcome.pod.scheduler_name
    match outcome.reason:
        case HoldReason.PAUSED:
            return f"The SchedulingPolicy with schedulerName {name} is paused; the pod waits until it resumes"
        case HoldReason.SHADOW:
            return (
                f"The SchedulingPolicy with schedulerName {name} is in mode Shadow and binds no pods; "
                "the pod waits until the mode is Active"
            )
        case HoldReason.REFUSED:
            return f"{outcome.message}; the pod waits until the policy is corrected {LIST_POLICIES}"
        case HoldReason.NO_PROFILE:
            return (
                f"No SchedulingPolicy has the schedulerName {name} any more; "
                f"the pod waits until a policy has it {LIST_POLICIES}"
            )
        case HoldReason.NAMESPACE:
            return f"{outcome.message}; the pod waits until the labels of the namespace, or the policy, change"
        case _:
            assert_never(outcome.reason)
