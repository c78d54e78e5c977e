"""The scheduling queue: it selects the next pod, and decides when a rejected pod is worth another attempt.

          add, PreEnqueue passes               pop
    (new) ----------------------> active -------------> in flight ---> done: assumed, bound or deleted
      |                            ^  ^                     |
      | PreEnqueue                 |  | backoff ends, or    | rejected, or error
      v rejects              event |  | no pod is active    v
    gated -------------------------+  +------ backoff <--- error, or an event in flight that an
                             event |            ^          unschedulable plugin is interested in?
                         5 minutes |            | event     | no
                                   +---- unschedulable <----+

Times are arguments, in seconds. Upstream: pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from moorage.engine.queue.backoff_queue import BackoffQueue
from moorage.engine.queue.in_flight import InFlight
from moorage.engine.queue.pod_heap import PodHeap
from moorage.engine.queue.queue_state import QueueParts
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.queueing_hints import QueueingHints, QueueingStrategy
from moorage.engine.queue.unschedulable_pods import UnschedulablePods
from moorage.engine.recorder import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    NO_RECORDER,
    POP_FROM_BACKOFF_QUEUE,
    PRE_ENQUEUE,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    Recorder,
)
from moorage.framework.cluster_events import POD_ADDED, ClusterEvent
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod, differs_beyond_status

MAX_IN_UNSCHEDULABLE_SECONDS = 300.0
"""Time that a pod stays unschedulable without an event (DefaultPodMaxInUnschedulablePodsDuration)."""


class SchedulingQueue:
    """The pods without a node whose profile is live, including pods in flight but not pods that are being bound."""

    def __init__(self, profiles: Mapping[str, Profile], recorder: Recorder = NO_RECORDER) -> None:
        """Read from `profiles`, a live mapping that must have the profile of every pod in the queue."""
        self._profiles = profiles
        self._recorder = recorder
        self._pods: dict[str, QueuedPodInfo] = {}
        self._active = PodHeap()
        self._backoff = BackoffQueue(profiles)
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlight()
        self._hints = QueueingHints(profiles, recorder)
        self.parts = QueueParts(self._pods, self._active, self._backoff, self._unschedulable, self._in_flight)

    def find(self, uid: str) -> QueuedPodInfo | None:
        """Return a pod of the queue."""
        return self._pods.get(uid)

    def add(self, pod: Pod, now: float) -> QueueType:
        """Add a new pod; return the queue that it is in now."""
        queued = QueuedPodInfo(pod, now)
        self._pods[pod.uid] = queued
        self._move_to_active(queued, now, POD_ADDED)
        return queued.queue

    def update(self, event: ClusterEvent, now: float) -> None:
        """Replace a pod by its new version, and requeue the pod if the change may make it schedulable.

        A change of only the status requeues no pod, because each failed attempt writes the status.
        """
        pod: Pod = event.new
        queued = self._pods[pod.uid]
        queue = queued.queue
        changed = differs_beyond_status(queued.pod, pod)
        if queue is QueueType.IN_FLIGHT:
            queued.pod = pod
            if changed:
                self._in_flight.record(event)
            return
        self._remove(queued)
        queued.pod = pod
        if queue is QueueType.ACTIVE:
            self._move_to_active(queued, now, "")
        elif queue is QueueType.BACKOFF:
            self._backoff.push(queued)
        else:
            self._unschedulable.add(queued, queue)
            if changed:
                self._requeue(queued, self._hints.strategy_for(queued, event), now, event.label)

    def delete(self, uid: str) -> None:
        """Remove a pod. If the pod is in flight, the queue keeps events for the pod until `done`."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._remove(queued)

    def pop(self, now: float) -> QueuedPodInfo | None:
        """Start the attempt of the first active pod. If no pod is active, take a rejected pod in backoff."""
        self.flush_backoff(now)
        queued = self._active.pop() or self._pop_early(now)
        if queued is None:
            return None
        queued.queue = QueueType.IN_FLIGHT
        queued.attempts += 1
        self._in_flight.start(queued.pod.uid)
        return queued

    def done(self, uid: str) -> None:
        """End the attempt of a pod that does not return to the queue now, and drop the events kept for the pod."""
        self._in_flight.done(uid)
        queued = self._pods.get(uid)
        if queued is not None and queued.queue is QueueType.IN_FLIGHT:
            del self._pods[uid]

    def reject(
        self, queued: QueuedPodInfo, plugins: frozenset[str], pending_plugins: frozenset[str], now: float
    ) -> None:
        """End an attempt in which `plugins` rejected the pod. The pod waits for an event that interests one of them.

        `pending_plugins` are the plugins among them that answered Pending.
        """
        queued.unschedulable_count += 1
        queued.consecutive_errors = 0
        queued.unschedulable_plugins, queued.pending_plugins = plugins, pending_plugins
        self._put_back(queued, now)

    def fail(self, queued: QueuedPodInfo, now: float) -> None:
        """End an attempt or a binding that failed, and try the pod again after its backoff."""
        queued.consecutive_errors += 1
        queued.unschedulable_plugins = queued.pending_plugins = frozenset()
        self._put_back(queued, now)

    def move_on_event(self, event: ClusterEvent, now: float) -> None:
        """Requeue the pods that an event may make schedulable (MoveAllToActiveOrBackoffQueue)."""
        self._in_flight.record(event)
        for queued, strategy in self._unschedulable.to_requeue(event, self._hints.strategy_for):
            self._requeue(queued, strategy, now, event.label)

    def retry(self, uid: str, now: float) -> None:
        """Requeue an unschedulable pod without an event, after its backoff."""
        queued = self._pods.get(uid)
        if queued is not None and queued.queue is QueueType.UNSCHEDULABLE:
            self._requeue(queued, QueueingStrategy.AFTER_BACKOFF, now, FORCE_ACTIVATE)

    def retry_profile(self, scheduler_name: str, now: float) -> None:
        """Move all pods of a profile, except pods in flight, to the active queue, because the profile has changed."""
        for queued in self._not_in_flight(scheduler_name):
            self._remove(queued)
            self._move_to_active(queued, now, FORCE_ACTIVATE)

    def remove_profile(self, scheduler_name: str) -> list[Pod]:
        """Remove and return all pods of a profile except those in flight."""
        return self.remove_pods(lambda pod: pod.scheduler_name == scheduler_name)

    def remove_pods(self, matches: Callable[[Pod], bool]) -> list[Pod]:
        """Remove and return all pods that match, except those in flight."""
        not_in_flight = [queued for queued in self._pods.values() if queued.queue is not QueueType.IN_FLIGHT]
        removed = [queued.pod for queued in not_in_flight if matches(queued.pod)]
        for pod in removed:
            self.delete(pod.uid)
        return removed

    def flush_backoff(self, now: float) -> None:
        """Move the pods whose backoff has ended to the active queue (flushBackoffQCompleted)."""
        while (queued := self._backoff.pop_expired(now)) is not None:
            self._move_to_active(queued, now, BACKOFF_COMPLETE)

    def flush_unschedulable_leftover(self, now: float) -> None:
        """Requeue the pods that are unschedulable for too long, but no gated pods (flushUnschedulablePodsLeftover)."""
        for queued in list(self._unschedulable):
            is_leftover = now - queued.queued_at > MAX_IN_UNSCHEDULABLE_SECONDS
            if is_leftover and queued.queue is QueueType.UNSCHEDULABLE:
                queued.was_flushed = True
                self._requeue(queued, QueueingStrategy.AFTER_BACKOFF, now, UNSCHEDULABLE_TIMEOUT)

    def backoff_expiry(self, queued: QueuedPodInfo) -> float:
        """Return the time at which the backoff of a pod ends, in seconds."""
        return self._backoff.expiry(queued)

    def next_backoff_expiry(self) -> float | None:
        """Return the time at which the next backoff ends, in seconds; None if no pod is in backoff."""
        return self._backoff.next_expiry()

    def has_unschedulable(self) -> bool:
        """Return whether pods are unschedulable or gated."""
        return len(self._unschedulable) > 0

    def has_next(self) -> bool:
        """Return whether `pop` would return a pod now."""
        return len(self._active) > 0 or self._backoff.may_pop_early

    def counts(self) -> dict[str, int]:
        """Return the number of pods by queue."""
        queues = Counter(queued.queue for queued in self._pods.values())
        return {queue.value: queues[queue] for queue in QueueType}

    def counts_by_profile(self) -> dict[str, Counter[str]]:
        """Return the number of pods by schedulerName and queue."""
        counts: dict[str, Counter[str]] = {}
        for queued in self._pods.values():
            counts.setdefault(queued.pod.scheduler_name, Counter())[queued.queue.value] += 1
        return counts

    def unschedulable_counts(self) -> Counter[tuple[str, str]]:
        """Return the number of unschedulable pods by unschedulable plugin and schedulerName."""
        found = (queued for queued in self._pods.values() if queued.queue is QueueType.UNSCHEDULABLE)
        return Counter((name, queued.pod.scheduler_name) for queued in found for name in queued.unschedulable_plugins)

    def active_since_before(self, time: float) -> list[QueuedPodInfo]:
        """Return the pods that became active before a time and are still active."""
        return [queued for queued in self._pods.values() if queued.queue is QueueType.ACTIVE and queued.ready_at < time]

    def _not_in_flight(self, scheduler_name: str) -> list[QueuedPodInfo]:
        of_profile = (queued for queued in self._pods.values() if queued.pod.scheduler_name == scheduler_name)
        return [queued for queued in of_profile if queued.queue is not QueueType.IN_FLIGHT]

    def _put_back(self, queued: QueuedPodInfo, now: float) -> None:
        """Return a pod to the queue after a failure, unless it has returned already (AddUnschedulableIfNotPresent)."""
        uid = queued.pod.uid
        events = self._in_flight.events_since_start(uid) if uid in self._in_flight else ()
        self._in_flight.done(uid)
        if self._pods.setdefault(uid, queued) is not queued:
            return
        queued.queued_at = now
        queued.was_flushed = False
        strategy = QueueingStrategy.SKIP if queued.unschedulable_plugins else QueueingStrategy.AFTER_BACKOFF
        strategy = max((strategy, *(self._hints.strategy_for(queued, event) for event in events)))
        self._unschedulable.add(queued, QueueType.UNSCHEDULABLE)
        if strategy is QueueingStrategy.SKIP:
            self._recorder.count_incoming(QueueType.UNSCHEDULABLE.value, SCHEDULE_ATTEMPT_FAILURE)
        self._requeue(queued, strategy, now, SCHEDULE_ATTEMPT_FAILURE)

    def _requeue(self, queued: QueuedPodInfo, strategy: QueueingStrategy, now: float, event: str) -> None:
        """Remove a pod from the unschedulable pods and queue it; `event` is the name of the reason in metrics."""
        if strategy is QueueingStrategy.SKIP:
            return
        self._remove(queued)
        if strategy is QueueingStrategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued, now):
            if not self._gate(queued, event):
                self._backoff.push(queued)
                self._recorder.count_incoming(QueueType.BACKOFF.value, event)
        else:
            self._move_to_active(queued, now, event)

    def _move_to_active(self, queued: QueuedPodInfo, now: float, event: str) -> None:
        """Make a pod active if no PreEnqueue plugin rejects it. If `event` is empty, metrics do not count the move."""
        if self._gate(queued, event):
            return
        if event:
            self._recorder.count_incoming("active", event)
        if queued.queue is not QueueType.ACTIVE:
            queued.ready_at = now
        queued.queue = QueueType.ACTIVE
        if queued.first_attempt_at is None:
            queued.first_attempt_at = now
        profile = self._profiles[queued.pod.scheduler_name]
        self._active.push(queued, profile.queue_sort.sort_key(queued.pod, queued.queued_at))

    def _gate(self, queued: QueuedPodInfo, event: str) -> bool:
        """Run PreEnqueue. If a plugin rejects the pod, gate the pod and return True."""
        profile = self._profiles[queued.pod.scheduler_name]
        started = self._recorder.now()
        for plugin in profile.pre_enqueue:
            status = plugin.pre_enqueue(queued.pod)
            if not status.is_success:
                self._recorder.observe_point(PRE_ENQUEUE, status.code, profile.name, started)
                queued.unschedulable_plugins = frozenset({plugin.name})
                queued.pending_plugins = queued.unschedulable_plugins if status.code is Code.PENDING else frozenset()
                if event and (queued.queue is not QueueType.GATED or event == POD_ADDED):
                    self._recorder.count_incoming(QueueType.UNSCHEDULABLE.value, event)
                self._unschedulable.add(queued, QueueType.GATED)
                return True
        self._recorder.observe_point(PRE_ENQUEUE, Code.SUCCESS, profile.name, started)
        return False

    def _pop_early(self, now: float) -> QueuedPodInfo | None:
        """Return the first pod in backoff that PreEnqueue does not reject."""
        while (queued := self._backoff.pop_early()) is not None:
            self._move_to_active(queued, now, POP_FROM_BACKOFF_QUEUE)
            if queued.queue is QueueType.ACTIVE:
                return self._active.pop()
        return None

    def _remove(self, queued: QueuedPodInfo) -> None:
        """Remove a pod from the queue that holds it. Pods in flight are in no queue."""
        uid = queued.pod.uid
        match queued.queue:
            case QueueType.ACTIVE:
                self._active.discard(uid)
            case QueueType.BACKOFF:
                self._backoff.discard(uid)
            case QueueType.UNSCHEDULABLE | QueueType.GATED:
                self._unschedulable.discard(uid)
            case QueueType.IN_FLIGHT:
                pass
