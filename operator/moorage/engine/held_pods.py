"""Pods that are not tried, because the profile of their schedulerName is paused, refused, removed or unknown.

kube-scheduler has no such pods: its profiles never change. Held pods are outside the scheduling queue.
"""

from msgspec import Struct

from moorage.engine.outcomes import Held, HoldReason
from moorage.model.pods.pod import Pod


class Hold(Struct, frozen=True):
    """The reason for which the pods of a schedulerName are held."""

    reason: HoldReason
    message: str = ""
    """For a refused policy: which one, and why; otherwise empty."""


class HeldPods:
    """Held pods by schedulerName, and which of them have not been reported.

    The pods of a schedulerName that no policy has ever claimed have no `Hold`. They are not reported, because most
    likely another scheduler places them.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._by_name: dict[str, dict[str, Pod]] = {}
        self._holds: dict[str, Hold] = {}
        self._unreported: dict[str, Pod] = {}

    @property
    def has_unreported(self) -> bool:
        """Whether `next_report` would return an outcome."""
        return bool(self._unreported)

    def next_report(self) -> Held | None:
        """Return the outcome for one held pod, or None; each pod is reported once for each `Hold`."""
        if not self._unreported:
            return None
        pod = self._unreported.pop(next(iter(self._unreported)))
        hold = self._holds[pod.scheduler_name]
        return Held(pod=pod, reason=hold.reason, message=hold.message)

    def set_hold(self, scheduler_name: str, hold: Hold) -> None:
        """Set why the pods of a schedulerName are held; a new `Hold` is reported for the pods that are here already."""
        if self._holds.get(scheduler_name) != hold:
            self._holds[scheduler_name] = hold
            self._unreported |= self._by_name.get(scheduler_name, {})

    def add(self, pod: Pod) -> None:
        """Add a pod, or replace it by its new version."""
        pods = self._by_name.setdefault(pod.scheduler_name, {})
        is_new = pod.uid not in pods
        pods[pod.uid] = pod
        if pod.uid in self._unreported or (is_new and pod.scheduler_name in self._holds):
            self._unreported[pod.uid] = pod

    def discard(self, pod: Pod) -> None:
        """Remove a pod if it is here."""
        self._unreported.pop(pod.uid, None)
        pods = self._by_name.get(pod.scheduler_name, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._by_name.pop(pod.scheduler_name, None)

    def release(self, scheduler_name: str) -> list[Pod]:
        """Remove and return the pods of a schedulerName, and forget its `Hold`."""
        self._holds.pop(scheduler_name, None)
        pods = self._by_name.pop(scheduler_name, {})
        for uid in pods:
            self._unreported.pop(uid, None)
        return list(pods.values())

    def counts(self) -> dict[str, int]:
        """Return the number of pods by schedulerName."""
        return {name: len(pods) for name, pods in self._by_name.items()}
