"""Pods that are held because their policy does not allow their namespace (`spec.allowedNamespaces`).

The event handlers check these pods again when the labels of the namespace or the policy change. A pod whose namespace
is not known yet is held here too, because the watch of pods may be ahead of the watch of namespaces. Such a pod is not
reported.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from moorage.engine.outcomes import Held, HoldReason
from moorage.model.pods.pod import Pod


class DisallowedState(Struct, frozen=True, kw_only=True):
    """The fields of `DisallowedPods`."""

    pods: Sequence[Pod]
    messages: Sequence[tuple[str, str]]
    unreported: Sequence[Pod]


class DisallowedPods:
    """The pods by namespace, and the pods that have not been reported."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_namespace: dict[str, dict[str, Pod]] = {}
        self._messages: dict[str, str] = {}
        """The message about each pod, by uid; empty for a pod whose namespace is not known."""
        self._unreported: dict[str, Pod] = {}

    @property
    def has_unreported(self) -> bool:
        """Whether `next_report` would return an outcome."""
        return bool(self._unreported)

    def next_report(self) -> Held | None:
        """Return the outcome for one pod, or None. Each pod is reported once for each message."""
        if not self._unreported:
            return None
        pod = self._unreported.pop(next(iter(self._unreported)))
        return Held(pod=pod, reason=HoldReason.NAMESPACE, message=self._messages[pod.uid])

    def report_again(self) -> None:
        """Report again all pods that have a message."""
        for pods in self._by_namespace.values():
            self._unreported |= {uid: pod for uid, pod in pods.items() if self._messages[uid]}

    def add(self, pod: Pod, message: str) -> None:
        """Add a pod, or replace it by its new version. If the message is new and not empty, report the pod."""
        self._by_namespace.setdefault(pod.namespace, {})[pod.uid] = pod
        is_new = message != self._messages.get(pod.uid, "")
        self._messages[pod.uid] = message
        if is_new or pod.uid in self._unreported:
            self._unreported[pod.uid] = pod

    def discard(self, pod: Pod) -> None:
        """Remove a pod if it is here."""
        self._unreported.pop(pod.uid, None)
        self._messages.pop(pod.uid, None)
        pods = self._by_namespace.get(pod.namespace, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._by_namespace.pop(pod.namespace, None)

    def message_of(self, uid: str) -> str | None:
        """Return the message about a pod; empty while the pod's namespace is not known. Return None for other pods."""
        return self._messages.get(uid)

    def of_namespace(self, namespace: str) -> list[Pod]:
        """Return the pods of a namespace."""
        return list(self._by_namespace.get(namespace, {}).values())

    def of_profile(self, scheduler_name: str) -> list[Pod]:
        """Return the pods of a schedulerName."""
        pods = (pod for pods in self._by_namespace.values() for pod in pods.values())
        return [pod for pod in pods if pod.scheduler_name == scheduler_name]

    def state(self) -> DisallowedState:
        """Return a copy of all fields."""
        return DisallowedState(
            pods=[pod for pods in self._by_namespace.values() for pod in pods.values()],
            messages=list(self._messages.items()),
            unreported=list(self._unreported.values()),
        )

    def restore(self, state: DisallowedState) -> None:
        """Set all fields to the state of an earlier object."""
        for pod in state.pods:
            self._by_namespace.setdefault(pod.namespace, {})[pod.uid] = pod
        self._messages = dict(state.messages)
        self._unreported = {pod.uid: pod for pod in state.unreported}

    def counts(self) -> Mapping[str, int]:
        """Return the number of pods by schedulerName."""
        return Counter(pod.scheduler_name for pods in self._by_namespace.values() for pod in pods.values())
