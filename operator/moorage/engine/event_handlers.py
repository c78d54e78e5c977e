"""The handlers of cluster events: they write to the cache and the queue, and requeue the pods that an event may help.

Upstream: pkg/scheduler/eventhandlers.go.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import chain

from msgspec.structs import replace

from moorage.engine.binding_pods import BindingPods
from moorage.engine.cache import NAMESPACE, Cache
from moorage.engine.canaries import Canaries
from moorage.engine.disallowed_pods import DisallowedPods
from moorage.engine.held_pods import HeldPods, Hold
from moorage.engine.messages import ProfileChanged, ProfileRefused, ProfileRemoved
from moorage.engine.outcomes import HoldReason
from moorage.engine.queue.queued_pod_info import QueueType
from moorage.engine.queue.scheduling_queue import SchedulingQueue
from moorage.engine.request_learning import follow_profiles
from moorage.engine.shadows import Shadows, became_unschedulable
from moorage.framework.cluster_events import Action, ClusterEvent, added, deleted, updated
from moorage.framework.profile import Profile
from moorage.model.node import scheduling_properties_differ
from moorage.model.pods.pod import Pod
from moorage.model.selectors import Labels

NODE = "Node"
POD = "Pod"


@dataclass(slots=True)
class EventHandlers:
    """Handlers of events and of changed profiles.

    They compare a pod with its version in the cache or the queue, because the old version in the event may be older.
    """

    profiles: dict[str, Profile]
    """The live profiles by schedulerName."""
    cache: Cache
    queue: SchedulingQueue
    binding: BindingPods
    held: HeldPods
    disallowed: DisallowedPods
    shadows: Shadows
    canaries: Canaries = field(init=False)

    def __post_init__(self) -> None:
        """Start without canaries."""
        self.canaries = Canaries(self.profiles)

    def handle(self, event: ClusterEvent, now: float) -> None:
        """Write an event's object to the cache or the queue, and requeue the pods that the event may help."""
        if event.kind == POD:
            self._handle_pod(event, now)
        elif event.kind == NODE:
            self._handle_node(event, now)
        elif event.kind == NAMESPACE:
            self._handle_namespace(event, now)
        else:
            self.cache.set_object(event)
            self.queue.move_on_event(event, now)

    def change_profile(self, message: ProfileChanged | ProfileRemoved | ProfileRefused, now: float) -> None:
        """Add, replace or remove a profile."""
        match message:
            case ProfileChanged(profile):
                self.set_profile(profile, now)
            case ProfileRemoved(scheduler_name):
                self._remove_profile(scheduler_name, Hold(HoldReason.NO_PROFILE), now)
            case ProfileRefused(scheduler_name, reason):
                self._remove_profile(scheduler_name, Hold(HoldReason.REFUSED, reason), now)

    def set_profile(self, profile: Profile, now: float) -> None:
        """Add or replace a profile. Try its pods at once, or hold them if the profile is paused or a shadow."""
        name = profile.name
        self.profiles[name] = profile
        if profile.policy is not None:
            self.held.add_policy_name(name)
        self.shadows.set_profile(profile)
        self._follow_profiles(now)
        if not self.is_live(name):
            self._hold_profile(name, Hold(HoldReason.SHADOW if profile.settings.shadow_of else HoldReason.PAUSED))
            return
        if profile.settings.allowed_namespaces is not None:
            self._hold_disallowed(lambda pod: pod.scheduler_name == name)
        self.queue.retry_profile(name, now)
        for pod in (*self.held.release(name), *self.disallowed.of_profile(name)):
            self._admit(pod, now)

    def route(self, pod: Pod) -> Pod:
        """Return the pod with the schedulerName of the policy that schedules the pod, which may be a canary."""
        return self.canaries.route(pod, self.is_allowed)

    def _remove_profile(self, scheduler_name: str, hold: Hold, now: float) -> None:
        """Remove a profile if it is live, and hold the pods of its schedulerName."""
        self.profiles.pop(scheduler_name, None)
        self._follow_profiles(now)
        self.shadows.remove_profile(scheduler_name)
        self.held.remove_policy_name(scheduler_name)
        self._hold_profile(scheduler_name, hold)

    def _follow_profiles(self, now: float) -> None:
        """Count the requests of pods if a profile needs the counts, and move waiting pods to and from canaries."""
        mix = self.cache.snapshot.request_mix
        waiting = (queued.pod for queued in self.queue.parts.pods.values())
        follow_profiles(mix, self.profiles.values(), chain(self.cache.pods(), waiting))
        self._route_again(self.canaries.update(), now)

    def _route_again(self, names: Collection[str], now: float) -> None:
        """Decide again which canary takes each waiting pod of these schedulerNames."""
        waiting = [queued.pod for queued in self.queue.parts.pods.values() if queued.pod.scheduler_name in names]
        for name in names:
            waiting += [*self.held.of_profile(name), *self.disallowed.of_profile(name)]
        for pod in waiting:
            routed = self.route(pod)
            if routed is not pod:
                self._dequeue(pod)
                self._admit(routed, now)
        for queued in self.binding.all() if names else ():
            self.binding.update(self.route(queued.pod))

    def is_live(self, scheduler_name: str) -> bool:
        """Return whether the pods of a schedulerName are scheduled: its profile is neither paused nor a shadow."""
        profile = self.profiles.get(scheduler_name)
        return profile is not None and not profile.settings.paused and not profile.settings.shadow_of

    def may_try(self, pod: Pod) -> bool:
        """Return whether a pod is scheduled: its schedulerName is live, and its policy allows its namespace."""
        return self.is_live(pod.scheduler_name) and self.allows_namespace(pod)

    def allows_namespace(self, pod: Pod) -> bool:
        """Return whether the live profile of a pod allows the pod's namespace."""
        return self.is_allowed(self.profiles[pod.scheduler_name], pod)

    def is_allowed(self, profile: Profile, pod: Pod) -> bool:
        """Return whether a profile allows a pod's namespace. An unknown namespace is not allowed."""
        selector = profile.settings.allowed_namespaces
        if selector is None:
            return True
        labels = self._namespace_labels(pod.namespace)
        return labels is not None and selector.matches(labels)

    def hold(self, pod: Pod) -> None:
        """Hold a pod that is not in the queue."""
        self.cache.nominator.remove(pod.uid)
        if self.is_live(pod.scheduler_name):
            self.disallowed.add(pod, self._disallowed_message(pod))
        else:
            self.held.add(pod)

    def _hold_profile(self, scheduler_name: str, hold: Hold) -> None:
        self.held.set_hold(scheduler_name, hold)
        for pod in (*self.queue.remove_profile(scheduler_name), *self.disallowed.of_profile(scheduler_name)):
            self.disallowed.discard(pod)
            self.hold(pod)

    def _hold_disallowed(self, concerns: Callable[[Pod], bool]) -> None:
        """Hold the queued pods that `concerns` selects and whose namespace is no longer allowed."""
        for pod in self.queue.remove_pods(lambda pod: concerns(pod) and not self.allows_namespace(pod)):
            self.hold(pod)

    def _admit(self, pod: Pod, now: float) -> None:
        """Enqueue a pod that was held, or hold it again."""
        if self.may_try(pod):
            self.disallowed.discard(pod)
            self._enqueue(pod, now)
        else:
            self.hold(pod)

    def _disallowed_message(self, pod: Pod) -> str:
        """Return a message that names the policy that does not allow the pod's namespace.

        If the namespace is not known or the pod has scheduling gates, the message is empty and nothing is reported.
        """
        if self._namespace_labels(pod.namespace) is None or pod.scheduling_gates:
            return ""
        policy = self.profiles[pod.scheduler_name].policy
        name = policy.name if policy else pod.scheduler_name
        return f"SchedulingPolicy {name} does not allow namespace {pod.namespace} (spec.allowedNamespaces)"

    def _namespace_labels(self, namespace: str) -> Labels | None:
        return self.cache.snapshot.namespaces.get(namespace)

    def _handle_namespace(self, event: ClusterEvent, now: float) -> None:
        """Write a namespace to the cache, and check its pods again if its labels have changed."""
        name = (event.old or event.new).name
        before = self._namespace_labels(name)
        self.cache.set_object(event)
        if before != self._namespace_labels(name):
            if before is not None:
                self._hold_disallowed(lambda pod: pod.namespace == name)
            for pod in self.disallowed.of_namespace(name):
                self._admit(pod, now)
            self._route_again(self.canaries.names, now)
        self.queue.move_on_event(event, now)

    def _handle_node(self, event: ClusterEvent, now: float) -> None:
        if event.action is Action.DELETE:
            self.cache.remove_node(event.old.name)
            self.queue.move_on_event(event, now)
            return
        self.cache.set_node(event.new)
        if event.old is None or scheduling_properties_differ(event.old, event.new):
            self.queue.move_on_event(event, now)

    def _handle_pod(self, event: ClusterEvent, now: float) -> None:
        pod = self.route(event.old if event.action is Action.DELETE else event.new)
        if event.action is Action.DELETE or pod.is_terminal:
            self._remove_pod(pod, now)
            return
        if event.action is Action.ADD:
            self.cache.snapshot.request_mix.count(pod.shape)
        if pod.node_name:
            self._set_pod_with_node(pod, now)
        else:
            self._set_pod_without_node(event, pod, now)

    def _remove_pod(self, pod: Pod, now: float) -> None:
        removed = self.cache.remove_pod(pod.uid)
        was_nominated = self.cache.nominator.node_of(pod.uid) != ""
        self._dequeue(pod)
        if removed is not None or was_nominated:
            self.queue.move_on_event(deleted(POD, removed or pod), now)

    def _set_pod_with_node(self, pod: Pod, now: float) -> None:
        known = self.cache.find(pod.uid)
        was_assumed = self.cache.is_assumed(pod.uid)
        if known is None and self.held.has(pod):  # another scheduler has bound it
            self.shadows.compare(pod, pod.node_name, self.is_allowed)
        if known is None or was_assumed:
            self._dequeue(pod)
        self.cache.set_pod(pod)
        if known is None or was_assumed:
            self.queue.move_on_event(added(POD, pod), now)
        elif _requests_or_shape_differ(known, pod):
            self.queue.move_on_event(updated(POD, known, pod), now)

    def _set_pod_without_node(self, event: ClusterEvent, pod: Pod, now: float) -> None:
        if self.cache.find(pod.uid) is not None:
            self._update_assumed_pod(pod, now)
            return
        queued = self.queue.find(pod.uid)
        if queued is not None:
            pod = self._with_nomination(event, pod)
            self.cache.nominator.nominate(pod, pod.nominated_node_name)
            self.queue.update(updated(POD, queued.pod, pod), now)
        elif pod.terminating:
            self._keep_nomination_until_deleted(pod)
        elif self.may_try(pod):
            self._enqueue(pod, now)
        else:
            if self.held.has(pod) and became_unschedulable(event.old, pod):
                self.shadows.compare(pod, "", self.is_allowed)
            self.hold(pod)

    def _update_assumed_pod(self, pod: Pod, now: float) -> None:
        """Keep the new version for the queue, in case the binding fails. Forget a pod that is being deleted."""
        self.binding.update(pod)
        if pod.terminating and self.cache.forget(pod.uid):
            self.binding.remove(pod.uid)
            self.queue.move_on_event(deleted(POD, pod), now)

    def _keep_nomination_until_deleted(self, pod: Pod) -> None:
        """Keep the nomination of a pod that is being deleted. The pod itself is not tried again."""
        self.held.discard(pod)
        self.disallowed.discard(pod)
        if self.is_live(pod.scheduler_name):
            self.cache.nominator.nominate(pod, pod.nominated_node_name)

    def _enqueue(self, pod: Pod, now: float) -> None:
        """Add a pod to the queue. If it is not gated, add its nomination to the nominator."""
        if self.queue.add(pod, now) is not QueueType.GATED:
            self.cache.nominator.nominate(pod, pod.nominated_node_name)

    def _dequeue(self, pod: Pod) -> None:
        """Remove a pod from all places except the cache."""
        self.queue.delete(pod.uid)
        self.binding.remove(pod.uid)
        self.cache.nominator.remove(pod.uid)
        self.held.discard(pod)
        self.disallowed.discard(pod)

    def _with_nomination(self, event: ClusterEvent, pod: Pod) -> Pod:
        """Return the event's new version of a pod, with the nominator's nomination if neither version has a nomination.

        The API server has then not stored the nomination yet (upstream: UpdateNominatedPod in nominator.go).
        """
        old = event.old.nominated_node_name if event.old else ""
        kept = "" if pod.nominated_node_name or old else self.cache.nominator.node_of(pod.uid)
        return replace(pod, nominated_node_name=kept) if kept else pod


def _requests_or_shape_differ(old: Pod, new: Pod) -> bool:
    """Return whether an update of a placed pod may help other pods: the requests or the shape (labels) differ."""
    return old.shape is not new.shape or old.requests != new.requests
