"""Pods that are not tried, because the profile of their schedulerName is paused, refused, removed or unknown.

kube-scheduler has no such pods: its profiles never change. Held pods are outside the scheduling queue.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME
from moorage.engine.outcomes import Held, HoldReason, Misnamed
from moorage.engine.similar_names import SimilarNames, are_similar
from moorage.model.pods.pod import Pod

MISNAMED_SECONDS = 2.0
"""Time that a pod is held before it is reported as misnamed. If a policy and its pods are created together, the pods
may arrive first."""
UNTIMED = float("-inf")


class Hold(Struct, frozen=True):
    """The reason for holding the pods of a schedulerName."""

    reason: HoldReason
    message: str = ""
    """The name of the refused policy and the explanation; empty for other reasons."""


class HeldState(Struct, frozen=True, kw_only=True):
    """The fields of `HeldPods`, except the names of policies."""

    pods: Sequence[Pod]
    holds: Sequence[tuple[str, Hold]]
    unreported: Sequence[Pod]
    suspects: Sequence[tuple[Pod, float]]
    misnamed: Sequence[str]


class HeldPods:
    """Held pods by schedulerName, and the pods that have not been reported.

    If no policy has ever had a schedulerName, its pods have no `Hold`, because most likely another scheduler places
    them. Such pods are reported only if their schedulerName differs by one edit from that of a live policy. Pods with
    scheduling gates are not reported, because their condition already says that they wait for their gates.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._by_name: dict[str, dict[str, Pod]] = {}
        self._holds: dict[str, Hold] = {}
        self._unreported: dict[str, Pod] = {}
        self._policy_names = SimilarNames()
        self._suspects: dict[str, tuple[Pod, float]] = {}
        """The pods that seem misnamed, by uid, and the time at which to report each; UNTIMED until the next `tick`."""
        self._misnamed: set[str] = set()
        """The uids of the pods that were reported as misnamed."""

    @property
    def has_unreported(self) -> bool:
        """Whether `next_report` may return an outcome."""
        return bool(self._unreported)

    @property
    def next_tick(self) -> float | None:
        """The time of the next `tick`, in seconds, which may be in the past. None if no pod seems misnamed."""
        return min((due for _, due in self._suspects.values()), default=None)

    def tick(self, now: float) -> None:
        """Report the pods that have seemed misnamed for MISNAMED_SECONDS."""
        for uid, (pod, due) in list(self._suspects.items()):
            if due == UNTIMED:
                self._suspects[uid] = (pod, now + MISNAMED_SECONDS)
            elif due <= now:
                del self._suspects[uid]
                self._unreported[uid] = pod

    def next_report(self) -> Held | Misnamed | None:
        """Return the outcome for one held pod, or None. Each pod is reported once for each `Hold`."""
        while self._unreported:
            pod = self._unreported.pop(next(iter(self._unreported)))
            if hold := self._holds.get(pod.scheduler_name):
                return Held(pod=pod, reason=hold.reason, message=hold.message)
            if similar := self._similar_name(pod):
                self._misnamed.add(pod.uid)
                return Misnamed(pod=pod, similar_name=similar)
        return None

    def report_again(self) -> None:
        """Report again all pods that have a `Hold`."""
        for name in self._holds:
            for pod in self._by_name.get(name, {}).values():
                self._report(pod)

    def set_hold(self, scheduler_name: str, hold: Hold) -> None:
        """Set the `Hold` of a schedulerName. If the `Hold` is new, report it for all held pods with that name."""
        if self._holds.get(scheduler_name) != hold:
            self._holds[scheduler_name] = hold
            for pod in self._by_name.get(scheduler_name, {}).values():
                self._report(pod)

    def add_policy_name(self, scheduler_name: str) -> None:
        """Add the schedulerName of a live policy. Report held pods whose schedulerName is similar to this name."""
        self._policy_names.add(scheduler_name)
        for name in self._by_name:
            if name not in self._holds and are_similar(name, scheduler_name):
                for pod in self._by_name[name].values():
                    self._report(pod)

    def remove_policy_name(self, scheduler_name: str) -> None:
        """Remove the schedulerName of a policy that is no longer live."""
        self._policy_names.discard(scheduler_name)

    def add(self, pod: Pod) -> None:
        """Add a pod, or replace it by its new version."""
        pods = self._by_name.setdefault(pod.scheduler_name, {})
        before = pods.get(pod.uid)
        pods[pod.uid] = pod
        is_new = before is None or (before.scheduling_gates and not pod.scheduling_gates)
        if pod.uid in self._unreported:
            self._unreported[pod.uid] = pod
        elif is_new:
            self._report(pod)

    def discard(self, pod: Pod) -> None:
        """Remove a pod if it is here."""
        self._forget_report(pod.uid)
        pods = self._by_name.get(pod.scheduler_name, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._by_name.pop(pod.scheduler_name, None)

    def has(self, pod: Pod) -> bool:
        """Return whether a pod is held."""
        return pod.uid in self._by_name.get(pod.scheduler_name, {})

    def of_profile(self, scheduler_name: str) -> list[Pod]:
        """Return the held pods of a schedulerName."""
        return list(self._by_name.get(scheduler_name, {}).values())

    def release(self, scheduler_name: str) -> list[Pod]:
        """Remove and return the pods of a schedulerName, and forget its `Hold`."""
        self._holds.pop(scheduler_name, None)
        pods = self._by_name.pop(scheduler_name, {})
        for uid in pods:
            self._forget_report(uid)
        return list(pods.values())

    def hold_of(self, scheduler_name: str) -> Hold | None:
        """Return the `Hold` of a schedulerName."""
        return self._holds.get(scheduler_name)

    def counts(self) -> dict[str, int]:
        """Return the number of pods by schedulerName."""
        return {name: len(pods) for name, pods in self._by_name.items()}

    def state(self) -> HeldState:
        """Return a copy of all fields."""
        return HeldState(
            pods=[pod for pods in self._by_name.values() for pod in pods.values()],
            holds=list(self._holds.items()),
            unreported=list(self._unreported.values()),
            suspects=list(self._suspects.values()),
            misnamed=sorted(self._misnamed),
        )

    def restore(self, state: HeldState, policy_names: Iterable[str]) -> None:
        """Set all fields to the state of an earlier object, and to the schedulerNames of the live policies."""
        for pod in state.pods:
            self._by_name.setdefault(pod.scheduler_name, {})[pod.uid] = pod
        self._holds = dict(state.holds)
        self._unreported = {pod.uid: pod for pod in state.unreported}
        self._suspects = {pod.uid: (pod, due) for pod, due in state.suspects}
        self._misnamed = set(state.misnamed)
        for name in policy_names:
            self._policy_names.add(name)

    def _report(self, pod: Pod) -> None:
        """Report a pod at once if its schedulerName has a `Hold`.

        Report a pod without a `Hold` that seems misnamed once, after MISNAMED_SECONDS.
        """
        if pod.scheduling_gates:
            return
        if pod.scheduler_name in self._holds:
            self._suspects.pop(pod.uid, None)
            self._unreported[pod.uid] = pod
        elif pod.uid not in self._misnamed and self._similar_name(pod):
            self._suspects.setdefault(pod.uid, (pod, UNTIMED))

    def _similar_name(self, pod: Pod) -> str:
        """Return the schedulerName of a live policy that is similar to the pod's; empty if there is none.

        Never treat kube-scheduler's name as misspelled. Otherwise a policy with a similar name would cause events on
        all pods of kube-scheduler.
        """
        name = pod.scheduler_name
        return "" if name == DEFAULT_SCHEDULER_NAME else self._policy_names.find(name)

    def _forget_report(self, uid: str) -> None:
        self._unreported.pop(uid, None)
        self._suspects.pop(uid, None)
        self._misnamed.discard(uid)
