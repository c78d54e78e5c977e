"""Failed attempts and bindings: the pod returns to the queue, and its nomination is set or cleared.

Upstream: pkg/scheduler/schedule_one.go (handleSchedulingFailure).
"""

from dataclasses import dataclass

from msgspec.structs import replace

from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.event_handlers import POD, EventHandlers
from moorage.engine.messages import BindingFinished
from moorage.engine.nominations import Nominations
from moorage.engine.outcomes import SchedulingFailed, Unschedulable
from moorage.engine.pending_extenders import Attempt
from moorage.engine.preemption.post_filter import PostFilterResult
from moorage.engine.queue.queued_pod_info import QueuedPodInfo
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.framework.cluster_events import deleted


@dataclass(frozen=True, slots=True)
class FailureHandler:
    """Handler of failures: puts the pod back, or holds it if its profile was paused or removed during the attempt."""

    queue: SchedulingQueue
    nominations: Nominations
    handlers: EventHandlers

    def reject(self, attempt: Attempt, fit_error: FitError, post: PostFilterResult, now: float) -> Unschedulable:
        """Put back a pod that fits on no node, and nominate it to the node on which preemption makes room for it."""
        queued, profile = attempt.queued, attempt.profile
        diagnosis = replace(fit_error.diagnose(), post_filter_message=post.message)
        message = fit_error_message(diagnosis)
        displaced = self.nominations.displace(queued.pod, post.nominated_node_name)
        nominated = self.nominations.set(queued, post.nominated_node_name)
        unchanged = queued.message == message
        queued.message = message
        if self.handlers.may_try(queued.pod):
            # Without nodes, no plugin rejects the pod. Register all Filter plugins, so that the first node requeues it.
            plugins = diagnosis.unschedulable_plugins or frozenset(plugin.name for plugin in profile.filter)
            self.queue.reject(queued, plugins | post.unschedulable_plugins, diagnosis.pending_plugins, now)
        else:
            self._hold(queued)
        return Unschedulable(
            pod=queued.pod,
            profile=profile,
            message=message,
            diagnosis=diagnosis,
            nominated_node_name=nominated,
            victims=post.victims,
            displaced=displaced,
            attempts=queued.attempts,
            unchanged=unchanged,
        )

    def fail(self, attempt: Attempt, message: str, now: float) -> SchedulingFailed:
        """Put back a pod whose attempt ended in an error."""
        queued = attempt.queued
        unchanged = queued.message == message
        self.put_back(queued, message, now)
        return SchedulingFailed(
            pod=queued.pod, profile=attempt.profile, message=message, attempts=queued.attempts, unchanged=unchanged
        )

    def put_back(self, queued: QueuedPodInfo, error: str, now: float) -> None:
        """Clear a pod's nomination after an error, and try the pod again after its backoff."""
        queued.message = error
        self.nominations.set(queued, "")
        if self.handlers.may_try(queued.pod):
            self.queue.fail(queued, now)
        else:
            self._hold(queued)

    def finish_binding(self, message: BindingFinished, now: float) -> None:
        """If the binding failed, free the room of the pod and return it to the queue (handleBindingCycleError)."""
        queued = self.handlers.binding.remove(message.pod.uid)
        if message.error is None:
            return
        if self.handlers.cache.forget(message.pod.uid):
            self.queue.move_on_event(deleted(POD, message.pod), now)
        if queued is not None:
            self.put_back(queued, message.error, now)

    def retry(self, uid: str, void_nomination: str, now: float) -> None:
        """Requeue an unschedulable pod; if it is nominated to `void_nomination`, clear the nomination."""
        queued = self.queue.find(uid)
        if queued is not None and void_nomination:
            self.nominations.clear(queued, void_nomination)
            # Requeue the pods that may use the room now, even if an update of this pod has cleared the nomination.
            self.queue.move_on_event(deleted(POD, queued.pod), now)
        self.queue.retry(uid, now)

    def _hold(self, queued: QueuedPodInfo) -> None:
        self.queue.done(queued.pod.uid)
        self.handlers.hold(queued.pod)
