"""The scheduling queue: which pod is tried next, and when a rejected one is worth another attempt.

            add, hint to queue                        pop
    (new) ----------------------> active ---------------------> in flight ---> (bound, deleted)
      |                             ^  ^                           |
      | PreEnqueue                  |  | backoff over, or          | rejected, or failed
      v holds                 event |  | nothing active            v
    gated --------------------------+  +------ backoff <----- was there an event meanwhile
                              event |             ^           that a rejecter is interested in?
                       5 minutes    |             | event          | no
                                    +---- unschedulable <----------+

Times are arguments, in seconds. Upstream: pkg/scheduler/backend/queue/scheduling_queue.go.
"""

from collections import Counter
from collections.abc import Mapping

from moorage.engine.queue.backoff_queue import BackoffQueue
from moorage.engine.queue.in_flight import InFlight
from moorage.engine.queue.pod_heap import PodHeap
from moorage.engine.queue.queued_pod_info import QueuedPodInfo, QueueType
from moorage.engine.queue.queueing_hints import QueueingHints, QueueingStrategy
from moorage.engine.queue.unschedulable_pods import UnschedulablePods
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

MAX_IN_UNSCHEDULABLE_SECONDS = 300.0
"""How long a pod waits for an event before it is tried all the same (DefaultPodMaxInUnschedulablePodsDuration)."""


class SchedulingQueue:
    """All pods that wait for a node and whose profile is live; the pods in flight included."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """Watch `profiles`, a live mapping; every pod that is added has its profile there."""
        self._profiles = profiles
        self._pods: dict[str, QueuedPodInfo] = {}
        self._active = PodHeap()
        self._backoff = BackoffQueue(profiles)
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlight()
        self._hints = QueueingHints(profiles)

    def __len__(self) -> int:
        """Count the waiting pods, those in flight included."""
        return len(self._pods)

    def find(self, uid: str) -> QueuedPodInfo | None:
        """Return a waiting pod."""
        return self._pods.get(uid)

    def add(self, pod: Pod, now: float) -> QueueType:
        """Take in a pod that is new; return where it is now."""
        queued = QueuedPodInfo(pod, now)
        self._pods[pod.uid] = queued
        self._activate(queued, now)
        return queued.place

    def update(self, event: ClusterEvent, now: float) -> None:
        """Take in a new version of a waiting pod; what changed may make it schedulable."""
        pod: Pod = event.new
        queued = self._pods[pod.uid]
        if queued.place is QueueType.IN_FLIGHT:
            queued.pod = pod
            self._in_flight.record(event)
            return
        place = queued.place
        self._take_out(queued)
        queued.pod = pod
        if place is QueueType.ACTIVE:
            self._activate(queued, now)
        elif place is QueueType.BACKOFF:
            self._backoff.push(queued)
        else:
            self._unschedulable.add(queued, place)
            self._wake(queued, self._hints.judge(queued, event), now)

    def delete(self, uid: str) -> None:
        """Drop a pod. Of one in flight, only `done` forgets that it is."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._take_out(queued)

    def pop(self, now: float) -> QueuedPodInfo | None:
        """Take the pod that is due into flight. While nothing is active, a rejected pod's backoff is cut short."""
        self.flush_backoff(now)
        queued = self._active.pop() or self._pop_early(now)
        if queued is None:
            return None
        queued.place = QueueType.IN_FLIGHT
        queued.attempts += 1
        self._in_flight.start(queued.pod.uid)
        return queued

    def done(self, uid: str) -> None:
        """Say that a pod's attempt has come to its end, and that it does not come back."""
        self._in_flight.done(uid)
        self._pods.pop(uid, None)

    def reject(self, queued: QueuedPodInfo, rejectors: frozenset[str], pending: frozenset[str], now: float) -> None:
        """Take back a pod that plugins turned away."""
        queued.unschedulable_count += 1
        queued.consecutive_errors = 0
        queued.rejectors, queued.pending = rejectors, pending
        self._take_back(queued, now)

    def fail(self, queued: QueuedPodInfo, now: float) -> None:
        """Take back a pod whose attempt ended in an error."""
        queued.consecutive_errors += 1
        queued.rejectors = queued.pending = frozenset()
        self._take_back(queued, now)

    def move_on_event(self, event: ClusterEvent, now: float) -> None:
        """Wake the pods that an event may have made schedulable."""
        self._in_flight.record(event)
        for queued, verdict in self._unschedulable.woken_by(event, self._hints.judge):
            self._wake(queued, verdict, now)

    def retry(self, uid: str, now: float) -> None:
        """Try a pod that waits for an event again, though none has come, once its backoff is over."""
        queued = self._pods.get(uid)
        if queued is not None and queued.place is QueueType.UNSCHEDULABLE:
            self._wake(queued, QueueingStrategy.AFTER_BACKOFF, now)

    def retry_profile(self, scheduler_name: str, now: float) -> None:
        """Try all waiting pods of a profile again at once: it has changed, and so may their verdicts."""
        for queued in self._of_profile(scheduler_name):
            if queued.place is not QueueType.IN_FLIGHT:
                self._take_out(queued)
                self._activate(queued, now)

    def withdraw_profile(self, scheduler_name: str) -> list[Pod]:
        """Drop all waiting pods of a profile, but for those in flight, and return them."""
        withdrawn = [queued for queued in self._of_profile(scheduler_name) if queued.place is not QueueType.IN_FLIGHT]
        for queued in withdrawn:
            self.delete(queued.pod.uid)
        return [queued.pod for queued in withdrawn]

    def flush_backoff(self, now: float) -> None:
        """Bring back the pods whose backoff is over."""
        while (queued := self._backoff.pop_expired(now)) is not None:
            self._activate(queued, now)

    def flush_leftovers(self, now: float) -> None:
        """Bring back the pods that have waited for an event for too long; gates stay."""
        for queued in list(self._unschedulable):
            if queued.place is QueueType.UNSCHEDULABLE and now - queued.queued_at > MAX_IN_UNSCHEDULABLE_SECONDS:
                self._wake(queued, QueueingStrategy.AFTER_BACKOFF, now)

    def next_backoff_expiry(self) -> float | None:
        """Return when the next backoff is over."""
        return self._backoff.next_expiry()

    def has_unschedulable(self) -> bool:
        """Whether pods wait for an event."""
        return len(self._unschedulable) > 0

    def is_due(self) -> bool:
        """Whether `pop` would find a pod, were no time to pass."""
        return len(self._active) > 0 or self._backoff.may_pop_early

    def counts(self) -> dict[str, int]:
        """Count the waiting pods by place."""
        places = Counter(queued.place for queued in self._pods.values())
        return {place.value: places[place] for place in QueueType}

    def counts_by_profile(self) -> dict[str, Counter[str]]:
        """Count the waiting pods by schedulerName, and by place below it."""
        counts: dict[str, Counter[str]] = {}
        for queued in self._pods.values():
            counts.setdefault(queued.pod.scheduler_name, Counter())[queued.place.value] += 1
        return counts

    def rejections(self) -> Counter[tuple[str, str]]:
        """Count the rejected pods that wait for an event, by plugin and schedulerName."""
        rejected = (queued for queued in self._pods.values() if queued.place is QueueType.UNSCHEDULABLE)
        return Counter((plugin, queued.pod.scheduler_name) for queued in rejected for plugin in queued.rejectors)

    def ready_since_before(self, time: float) -> list[QueuedPodInfo]:
        """Return the pods that have been ready for an attempt since before a time; there should be none for long."""
        return [queued for queued in self._pods.values() if queued.place is QueueType.ACTIVE and queued.ready_at < time]

    def _of_profile(self, scheduler_name: str) -> list[QueuedPodInfo]:
        return [queued for queued in self._pods.values() if queued.pod.scheduler_name == scheduler_name]

    def _take_back(self, queued: QueuedPodInfo, now: float) -> None:
        """Park a pod, unless something happened during its attempt that is worth another one."""
        queued.queued_at = now
        uid = queued.pod.uid
        events = self._in_flight.events_since_start(uid) if uid in self._in_flight else ()
        self._in_flight.done(uid)
        verdict = QueueingStrategy.SKIP if queued.rejectors else QueueingStrategy.AFTER_BACKOFF
        verdict = max((verdict, *(self._hints.judge(queued, event) for event in events)))
        self._unschedulable.add(queued, QueueType.UNSCHEDULABLE)
        self._wake(queued, verdict, now)

    def _wake(self, queued: QueuedPodInfo, verdict: QueueingStrategy, now: float) -> None:
        if verdict is QueueingStrategy.SKIP:
            return
        self._take_out(queued)
        if verdict is QueueingStrategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued, now):
            if not self._hold_back(queued):
                self._backoff.push(queued)
        else:
            self._activate(queued, now)

    def _activate(self, queued: QueuedPodInfo, now: float) -> None:
        """Make a pod ready, if its PreEnqueue plugins let it."""
        if self._hold_back(queued):
            return
        if queued.place is not QueueType.ACTIVE:
            queued.ready_at = now
        queued.place = QueueType.ACTIVE
        if queued.first_attempt_at is None:
            queued.first_attempt_at = now
        profile = self._profiles[queued.pod.scheduler_name]
        self._active.push(queued, profile.queue_sort.sort_key(queued.pod, queued.queued_at))

    def _hold_back(self, queued: QueuedPodInfo) -> bool:
        for plugin in self._profiles[queued.pod.scheduler_name].pre_enqueue:
            status = plugin.pre_enqueue(queued.pod)
            if not status.is_success:
                queued.rejectors = frozenset({plugin.name})
                queued.pending = queued.rejectors if status.code is Code.PENDING else frozenset()
                self._unschedulable.add(queued, QueueType.GATED)
                return True
        return False

    def _pop_early(self, now: float) -> QueuedPodInfo | None:
        """Take a pod out of backoff, as long as PreEnqueue lets it."""
        while (queued := self._backoff.pop_early()) is not None:
            self._activate(queued, now)
            if queued.place is QueueType.ACTIVE:
                return self._active.pop()
        return None

    def _take_out(self, queued: QueuedPodInfo) -> None:
        """Take a pod out of wherever it is, but not out of flight."""
        uid = queued.pod.uid
        match queued.place:
            case QueueType.ACTIVE:
                self._active.discard(uid)
            case QueueType.BACKOFF:
                self._backoff.discard(uid)
            case QueueType.UNSCHEDULABLE | QueueType.GATED:
                self._unschedulable.discard(uid)
            case QueueType.IN_FLIGHT:
                pass
