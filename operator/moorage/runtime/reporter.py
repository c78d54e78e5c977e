"""Says what became of each attempt: to the pod by condition and event, to the metrics, and to the profile's tally."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from moorage.engine.outcomes import HoldReason
from moorage.runtime.events.event import Event, failed_scheduling, pod_reference, scheduled
from moorage.runtime.pod_status_writer import SCHEDULER_ERROR, UNSCHEDULABLE, PodScheduled

if TYPE_CHECKING:
    from moorage.engine.outcomes import Bind, Held, SchedulingFailed, Skipped, Unschedulable
    from moorage.framework.profile import Profile
    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.tally import Tally

logger = logging.getLogger(__name__)

WAIT_REASONS = {
    HoldReason.PAUSED: "SchedulingPaused",
    HoldReason.REFUSED: "SchedulingPolicyRefused",
    HoldReason.NO_PROFILE: "NoSchedulingPolicy",
}
"""Reasons of the events that say why nobody tries a pod."""
POLICIES_SHOWN = "(`kubectl get schedulingpolicies` lists those there are)"


class Recorder(Protocol):
    """Takes events."""

    def record(self, event: Event) -> None:
        """Queue an event."""


class StatusWriter(Protocol):
    """Takes pods' statuses."""

    def submit(self, pod: Pod, wanted: PodScheduled) -> None:
        """Have it written."""


class AttemptObserver(Protocol):
    """Is told of attempts, for metrics."""

    def observe_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count an attempt: `scheduled`, `unschedulable` or `error`."""

    def observe_bound(self, attempts: int, seconds: float) -> None:
        """Count a bound pod: how many attempts, and how long since the first could have begun."""


class Reporter:
    """Tells people and programs. Attempts' beginnings are given on the monotonic clock."""

    def __init__(
        self, recorder: Recorder, statuses: StatusWriter, observer: AttemptObserver, tally: Tally, clock: Clock
    ) -> None:
        """Report through these."""
        self._recorder = recorder
        self._statuses = statuses
        self._observer = observer
        self._tally = tally
        self._clock = clock

    def bound(self, bind: Bind, started_at: float) -> None:
        """Say that a pod is bound; its condition the API server sets itself."""
        self._recorder.record(scheduled(bind.pod, bind.node_name, bind.profile.name))
        if bind.attempts == 1:
            self._remark(bind.pod, bind.profile)
        self._recovered(bind.profile)
        tally = self._tally.of(bind.profile)
        tally.bound += 1
        tally.failures_in_a_row = 0
        tally.last_bound_time = self._clock.time()
        self._observe("scheduled", bind.profile, started_at)
        self._observer.observe_bound(bind.attempts, self._clock.monotonic() - bind.first_attempt_at)

    def bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        """Say that a pod was not bound where it should have been; it is tried again."""
        tally = self._tally.of(bind.profile)
        tally.failed += 1
        tally.failures_in_a_row += 1
        self._fault(bind.pod, f"binding rejected: {message}", bind.profile)
        self._observe("error", bind.profile, started_at)

    def unschedulable(self, outcome: Unschedulable, started_at: float) -> None:
        """Say why a pod fits nowhere."""
        self._statuses.submit(outcome.pod, PodScheduled(UNSCHEDULABLE, outcome.message, outcome.nominated_node_name))
        self._recorder.record(failed_scheduling(outcome.pod, outcome.message, outcome.profile.name))
        if outcome.attempts == 1:
            self._remark(outcome.pod, outcome.profile)
        self._recovered(outcome.profile)
        self._tally.of(outcome.profile).rejections = outcome.diagnosis.reasons
        self._observe("unschedulable", outcome.profile, started_at)

    def failed(self, outcome: SchedulingFailed, started_at: float) -> None:
        """Say that an attempt ended in an error; of several in a row the log has the first."""
        tally = self._tally.of(outcome.profile)
        if tally.errors_in_a_row == 0:
            words = "an attempt to schedule pod %s ended in an error, profile %s: %s"
            logger.warning(words, outcome.pod.key, outcome.profile.name, outcome.message)
        tally.errors_in_a_row += 1
        tally.last_error = outcome.message
        self._fault(outcome.pod, outcome.message, outcome.profile)
        self._observe("error", outcome.profile, started_at)

    def waiting(self, outcome: Held) -> None:
        """Say that nobody tries a pod. No condition: autoscalers buy nodes for Unschedulable pods."""
        self._recorder.record(_waiting(outcome))

    def skipped(self, outcome: Skipped) -> None:
        """Say that a pod that is being deleted is not tried."""
        self._recorder.record(failed_scheduling(outcome.pod, outcome.message, outcome.profile.name))

    def _recovered(self, profile: Profile) -> None:
        """Take in that an attempt ended without an error."""
        tally = self._tally.of(profile)
        if tally.errors_in_a_row:
            logger.info("profile %s schedules again, after %d errors", profile.name, tally.errors_in_a_row)
            tally.errors_in_a_row = 0

    def _remark(self, pod: Pod, profile: Profile) -> None:
        """Pass on what a plugin did not understand in the pod."""
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

    def _fault(self, pod: Pod, message: str, profile: Profile) -> None:
        self._statuses.submit(pod, PodScheduled(SCHEDULER_ERROR, message))
        self._recorder.record(failed_scheduling(pod, message, profile.name))

    def _observe(self, result: str, profile: Profile, started_at: float) -> None:
        self._observer.observe_attempt(result, profile.name, self._clock.monotonic() - started_at)


def _waiting(outcome: Held) -> Event:
    name = outcome.pod.scheduler_name
    notes = {
        HoldReason.PAUSED: f"The SchedulingPolicy with schedulerName {name} is paused; the pod waits until it goes on",
        HoldReason.REFUSED: f"{outcome.message}; the pod waits until it is mended {POLICIES_SHOWN}",
        HoldReason.NO_PROFILE: (
            f"No SchedulingPolicy has the schedulerName {name} any more; the pod waits until one has {POLICIES_SHOWN}"
        ),
    }
    return Event(
        regarding=pod_reference(outcome.pod),
        reason=WAIT_REASONS[outcome.reason],
        action="Scheduling",
        note=notes[outcome.reason],
        reporter=name,
        warning=outcome.reason is not HoldReason.PAUSED,
    )
