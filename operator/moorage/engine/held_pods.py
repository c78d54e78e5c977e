"""Pods that nobody tries: their profile is paused, refused, gone, or was never there."""

from msgspec import Struct

from moorage.engine.outcomes import Held, HoldReason
from moorage.model.pods.pod import Pod


class Hold(Struct, frozen=True):
    """Why the pods of a schedulerName are held."""

    reason: HoldReason
    message: str = ""
    """What there is to say besides: why the policy is refused."""


class HeldPods:
    """Waiting pods by schedulerName, outside the scheduling queue, and what is still to be said of them.

    Pods of a name that no policy ever claimed have no cause, and nothing is said of them: they are most likely another
    scheduler's.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._by_name: dict[str, dict[str, Pod]] = {}
        self._causes: dict[str, Hold] = {}
        self._untold: dict[str, Pod] = {}

    @property
    def has_notices(self) -> bool:
        """Whether something is still to be said."""
        return bool(self._untold)

    def next_notice(self) -> Held | None:
        """Say of one pod why it is held; each pod comes once for each cause."""
        if not self._untold:
            return None
        pod = self._untold.pop(next(iter(self._untold)))
        cause = self._causes[pod.scheduler_name]
        return Held(pod=pod, reason=cause.reason, message=cause.message)

    def explain(self, scheduler_name: str, cause: Hold) -> None:
        """Take in why pods of a name are held from now on; those that wait already are told, if it is news."""
        if self._causes.get(scheduler_name) != cause:
            self._causes[scheduler_name] = cause
            self._untold |= self._by_name.get(scheduler_name, {})

    def hold(self, pod: Pod) -> None:
        """Take a pod in, or its new version."""
        pods = self._by_name.setdefault(pod.scheduler_name, {})
        is_new = pod.uid not in pods
        pods[pod.uid] = pod
        if pod.uid in self._untold or (is_new and pod.scheduler_name in self._causes):
            self._untold[pod.uid] = pod

    def drop(self, pod: Pod) -> None:
        """Forget a pod, if it is here."""
        self._untold.pop(pod.uid, None)
        pods = self._by_name.get(pod.scheduler_name, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._by_name.pop(pod.scheduler_name, None)

    def release(self, scheduler_name: str) -> list[Pod]:
        """Let the pods of a name go: nothing holds them any more."""
        self._causes.pop(scheduler_name, None)
        pods = self._by_name.pop(scheduler_name, {})
        for uid in pods:
            self._untold.pop(uid, None)
        return list(pods.values())

    def of(self, scheduler_name: str) -> tuple[Pod, ...]:
        """Return the pods of a name."""
        return tuple(self._by_name.get(scheduler_name, {}).values())

    def counts(self) -> dict[str, int]:
        """Count the pods by schedulerName."""
        return {name: len(pods) for name, pods in self._by_name.items()}
