"""Pods that nobody tries: their profile is paused, gone, or was never there."""

from moorage.model.pod import Pod


class HeldPods:
    """Waiting pods by schedulerName, outside the scheduling queue."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_name: dict[str, dict[str, Pod]] = {}

    def hold(self, pod: Pod) -> bool:
        """Take a pod in, or its new version; whether it is new here."""
        pods = self._by_name.setdefault(pod.scheduler_name, {})
        is_new = pod.uid not in pods
        pods[pod.uid] = pod
        return is_new

    def drop(self, pod: Pod) -> None:
        """Forget a pod, if it is here."""
        pods = self._by_name.get(pod.scheduler_name, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._by_name.pop(pod.scheduler_name, None)

    def release(self, scheduler_name: str) -> list[Pod]:
        """Let the pods of a name go."""
        return list(self._by_name.pop(scheduler_name, {}).values())

    def of(self, scheduler_name: str) -> tuple[Pod, ...]:
        """Return the pods of a name."""
        return tuple(self._by_name.get(scheduler_name, {}).values())

    def counts(self) -> dict[str, int]:
        """Count the pods by schedulerName."""
        return {name: len(pods) for name, pods in self._by_name.items()}
