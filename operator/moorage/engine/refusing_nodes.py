"""Resting nodes: they get no pods for some time, because their kubelet refused a pod although the cache shows room.

The kubelet may know of pods that the cache does not have: pods that were deleted by force and still run, or a pod that
another scheduler has just bound. Without a pause, the controller's next pod would go to the same node and be refused
again, as fast as the controller creates pods.

kube-scheduler has no such pause. The pause is not a Filter, so it changes no message about a pod that fits on no node.
While a node rests, pods go to other nodes that fit. If only resting nodes fit, the attempt ends with an error. Then
autoscalers add no node, and the pod is tried again after its backoff.
"""

from collections.abc import Iterable
from dataclasses import dataclass

FIRST_REST_SECONDS = 5.0
"""The length of the first rest. The watch needs less time to deliver a pod that another scheduler bound."""
LONGEST_REST_SECONDS = 60.0
"""The longest rest. Each further refusal doubles the rest up to this limit. If a node refuses no pod for this time
after a rest, its next rest is FIRST_REST_SECONDS again."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """The time for which one node rests, on the caller's clock."""

    until: float
    seconds: float


class RefusingNodes:
    """The resting nodes."""

    def __init__(self) -> None:
        """Start with none."""
        self._rests: dict[str, _Rest] = {}

    def add(self, node_name: str, now: float) -> None:
        """Let a node rest. If the node has rested a short time ago, the new rest is longer."""
        last = self._rests.get(node_name)
        seconds = min(2 * last.seconds, LONGEST_REST_SECONDS) if last else FIRST_REST_SECONDS
        self._rests[node_name] = _Rest(now + seconds, seconds)

    def state(self) -> list[tuple[str, float, float]]:
        """Return the name of each node, the time until which it rests, and the length of the rest."""
        return [(name, rest.until, rest.seconds) for name, rest in self._rests.items()]

    def restore(self, state: Iterable[tuple[str, float, float]]) -> None:
        """Set the rests to the values that `state` has returned."""
        self._rests = {name: _Rest(until, seconds) for name, until, seconds in state}

    def names(self, now: float) -> frozenset[str]:
        """Return the nodes that rest now."""
        if not self._rests:
            return frozenset()
        kept = {name: rest for name, rest in self._rests.items() if now < rest.until + LONGEST_REST_SECONDS}
        self._rests = kept
        return frozenset(name for name, rest in kept.items() if now < rest.until)
