"""From an informer's event to the cache, the queue, and the pods that it wakes.

Upstream: pkg/scheduler/eventhandlers.go.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from moorage.engine.cache import Cache
from moorage.engine.held_pods import HeldPods, Hold
from moorage.engine.queue.queued_pod_info import QueueType
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.framework.cluster_events import Action, ClusterEvent, added, deleted, updated
from moorage.framework.profile import Profile
from moorage.model.node import scheduling_properties_differ
from moorage.model.pods.pod import Pod

NODE = "Node"
POD = "Pod"


class EventHandlers:
    """Takes in what happens in the cluster. What it knows of a pod itself counts more than an event's old version."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, profiles: Mapping[str, Profile]) -> None:
        """Write to `cache` and `queue`; `profiles` is a live mapping."""
        self._cache = cache
        self._queue = queue
        self._profiles = profiles
        self.held = HeldPods()

    def apply(self, event: ClusterEvent, now: float) -> None:
        """Take in an event."""
        if event.kind == POD:
            self._pod(event, now)
        elif event.kind == NODE:
            self._node(event, now)
        else:
            self._cache.set_object(event)
            self._queue.move_on_event(event, now)

    def start_profile(self, scheduler_name: str, now: float) -> None:
        """Take the pods of a profile that is new, has changed or goes on into the queue, and try them at once."""
        self._queue.retry_profile(scheduler_name, now)
        for pod in self.held.release(scheduler_name):
            self._enqueue(pod, now)

    def stop_profile(self, scheduler_name: str, cause: Hold) -> None:
        """Hold the pods of a profile that is paused, refused or gone."""
        self.held.explain(scheduler_name, cause)
        for pod in self._queue.withdraw_profile(scheduler_name):
            self.hold(pod)

    def is_live(self, scheduler_name: str) -> bool:
        """Whether pods of this name are tried."""
        profile = self._profiles.get(scheduler_name)
        return profile is not None and not profile.settings.paused

    def hold(self, pod: Pod) -> None:
        """Keep a pod that nobody tries."""
        self._cache.nominator.remove(pod.uid)
        self.held.hold(pod)

    def _node(self, event: ClusterEvent, now: float) -> None:
        if event.action is Action.DELETE:
            self._cache.remove_node(event.old.name)
            self._queue.move_on_event(event, now)
            return
        self._cache.set_node(event.new)
        if event.old is None or scheduling_properties_differ(event.old, event.new):
            self._queue.move_on_event(event, now)

    def _pod(self, event: ClusterEvent, now: float) -> None:
        pod: Pod = event.old if event.action is Action.DELETE else event.new
        if event.action is Action.DELETE or pod.is_terminal:
            self._pod_gone(pod, now)
        elif pod.node_name:
            self._pod_with_node(pod, now)
        else:
            self._waiting_pod(event, pod, now)

    def _pod_gone(self, pod: Pod, now: float) -> None:
        had_room = self._cache.remove_pod(pod.uid)
        nominated = self._cache.nominator.node_of(pod.uid)
        self._leave(pod)
        if had_room is not None or nominated:
            self._queue.move_on_event(deleted(POD, had_room or pod), now)

    def _pod_with_node(self, pod: Pod, now: float) -> None:
        known = self._cache.find(pod.uid)
        was_assumed = self._cache.is_assumed(pod.uid)
        if not known or was_assumed:
            self._leave(pod)
        self._cache.set_pod(pod)
        if known is None or was_assumed:
            self._queue.move_on_event(added(POD, pod), now)
        elif _pod_differs(known, pod):
            self._queue.move_on_event(updated(POD, known, pod), now)

    def _waiting_pod(self, event: ClusterEvent, pod: Pod, now: float) -> None:
        if self._cache.find(pod.uid) is not None:
            self._assumed_pod(pod, now)
            return
        queued = self._queue.find(pod.uid)
        if queued is not None:
            pod = self._with_nomination(event, pod)
            self._cache.nominator.nominate(pod, pod.nominated_node_name)
            self._queue.update(updated(POD, queued.pod, pod), now)
        elif pod.terminating:
            self._terminating_pod(pod)
        elif self.is_live(pod.scheduler_name):
            self._enqueue(pod, now)
        else:
            self.hold(pod)

    def _assumed_pod(self, pod: Pod, now: float) -> None:
        """Ignore news of a pod that is being bound, unless it is being deleted."""
        if pod.terminating and self._cache.forget(pod.uid):
            self._queue.delete(pod.uid)
            self._queue.move_on_event(deleted(POD, pod), now)

    def _terminating_pod(self, pod: Pod) -> None:
        """Try a pod that is being deleted no more; the room that was made for it is its own until it is gone."""
        self.held.drop(pod)
        if self.is_live(pod.scheduler_name):
            self._cache.nominator.nominate(pod, pod.nominated_node_name)

    def _enqueue(self, pod: Pod, now: float) -> None:
        """Take a pod into the queue. One that is held back there claims no room yet."""
        if self._queue.add(pod, now) is not QueueType.GATED:
            self._cache.nominator.nominate(pod, pod.nominated_node_name)

    def _leave(self, pod: Pod) -> None:
        """Let a pod no longer wait."""
        self._queue.delete(pod.uid)
        self._cache.nominator.remove(pod.uid)
        self.held.drop(pod)

    def _with_nomination(self, event: ClusterEvent, pod: Pod) -> Pod:
        """Keep a nomination that the API server has not seen yet: as long as neither version states one."""
        before = event.old.nominated_node_name if event.old else ""
        kept = "" if pod.nominated_node_name or before else self._cache.nominator.node_of(pod.uid)
        return replace(pod, nominated_node_name=kept) if kept else pod


def _pod_differs(old: Pod, new: Pod) -> bool:
    """Whether labels or requests have changed: nothing else about a placed pod makes room for another."""
    return old.shape is not new.shape or old.requests != new.requests
