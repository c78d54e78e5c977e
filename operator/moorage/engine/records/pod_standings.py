"""The place of a pod in the scheduler, described for users."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.engine.binding_pods import BindingPods
from moorage.engine.cache import Cache
from moorage.engine.disallowed_pods import DisallowedPods
from moorage.engine.held_pods import HeldPods, Hold
from moorage.engine.outcomes import HoldReason
from moorage.engine.pending_extenders import PendingExtenders
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE_SECONDS, SchedulingQueue
from moorage.engine.records.explanation import Standing
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

QUEUED = {
    QueueType.ACTIVE: Standing.ACTIVE,
    QueueType.BACKOFF: Standing.BACKOFF,
    QueueType.UNSCHEDULABLE: Standing.UNSCHEDULABLE,
    QueueType.GATED: Standing.GATED,
    QueueType.IN_FLIGHT: Standing.IN_FLIGHT,
}
HOLDS = {
    HoldReason.NO_PROFILE: "its policy was deleted",
    HoldReason.REFUSED: "its policy is invalid",
    HoldReason.PAUSED: "its policy is paused",
    HoldReason.SHADOW: "its policy is in mode Shadow",
    HoldReason.NAMESPACE: "its policy does not allow its namespace",
}


@dataclass(frozen=True, slots=True)
class PodStandings:
    """The parts of the scheduler that hold pods. This class only reads them."""

    profiles: Mapping[str, Profile]
    cache: Cache
    queue: SchedulingQueue
    binding: BindingPods
    held: HeldPods
    disallowed: DisallowedPods
    extenders: PendingExtenders

    def of(self, pod: Pod, now: float) -> tuple[Standing, str]:
        """Return the place of a pod, and a sentence with the reason; the sentence may be empty."""
        if self.cache.is_assumed(pod.uid) or pod.uid in self.binding:
            return Standing.BINDING, ""
        if pod.node_name:
            return Standing.BOUND, ""
        queued = self.queue.find(pod.uid)
        if queued is not None:
            return self._queued(queued, now)
        hold = self._hold_of(pod)
        if hold is not None:
            return Standing.HELD, f"{HOLDS[hold.reason]}: {hold.message}" if hold.message else HOLDS[hold.reason]
        if pod.scheduler_name in self.profiles:
            return Standing.UNKNOWN, "the scheduler has not received the pod yet"
        return Standing.OTHER_SCHEDULER, f"no policy has the schedulerName {pod.scheduler_name}"

    def _hold_of(self, pod: Pod) -> Hold | None:
        message = self.disallowed.message_of(pod.uid)
        if message is not None:
            return Hold(HoldReason.NAMESPACE, message)
        return self.held.hold_of(pod.scheduler_name)

    def _queued(self, queued: QueuedPodInfo, now: float) -> tuple[Standing, str]:
        if queued.queue is QueueType.IN_FLIGHT and self.extenders.is_asked(queued.pod.uid):
            return Standing.WAITS_FOR_EXTENDERS, ""
        return QUEUED[queued.queue], self._queue_text(queued, now)

    def _queue_text(self, queued: QueuedPodInfo, now: float) -> str:
        plugins = ", ".join(sorted(queued.unschedulable_plugins))
        match queued.queue:
            case QueueType.BACKOFF:
                return f"it is tried again in {_seconds(self.queue.backoff_expiry(queued) - now)} s"
            case QueueType.UNSCHEDULABLE:
                latest = _seconds(queued.queued_at + MAX_IN_UNSCHEDULABLE_SECONDS - now)
                return f"it is tried again after a change that may help {plugins or 'it'}, at the latest in {latest} s"
            case QueueType.GATED:
                return f"{plugins} keeps it out of the queue"
            case _:
                return ""


def _seconds(seconds: float) -> int:
    return max(round(seconds), 0)
