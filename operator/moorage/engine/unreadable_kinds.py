"""The kinds that moorage cannot read now, and the pods that need them.

While the API server refuses to list a storage kind, a pod with claims is not tried. Otherwise its message would wrongly
say that a claim or a class is not found.
While the API server refuses to list DeviceClasses, a pod is not tried if it requests an extended resource that no node
has. A DeviceClass may provide the resource, so the message "Insufficient" might be wrong.
Preemption waits while disruption budgets cannot be read, because a new budget may protect a victim.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from moorage.api.extender import is_extended_resource
from moorage.cluster.snapshot import Snapshot
from moorage.engine.messages import KindReadable, KindUnreadable
from moorage.model.pods.pod import Pod

BUDGETS = "PodDisruptionBudget"
DEVICE_CLASSES = "DeviceClass"
STORAGE = (
    "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity",
    "VolumeAttachment",
)  # fmt: skip
"""The kinds that the plugins for claims read."""


class UnreadableState(Struct, frozen=True):
    """The fields of `UnreadableKinds`."""

    refused: Mapping[str, str]
    without_budgets: str
    waiting: Sequence[str]


class UnreadableKinds:
    """The kinds that cannot be read, by name."""

    def __init__(self) -> None:
        """Start with none."""
        self._refused: dict[str, str] = {}
        self._without_budgets = ""
        self._waiting: dict[str, None] = {}
        """The uids of the waiting pods, in the order in which they return to the queue."""

    def update(self, message: KindUnreadable | KindReadable) -> Iterable[str]:
        """Record whether a kind can be read. Return the uids of the pods whose preemption waited for the budgets."""
        if isinstance(message, KindUnreadable):
            self._add(message)
            return ()
        self._refused.pop(message.kind, None)
        if message.kind == BUDGETS:
            self._without_budgets = ""
        return self._take_waiting()

    def fault_of(self, pod: Pod, cluster: Snapshot) -> str:
        """Return why the pod cannot be tried; empty if every kind that it needs can be read."""
        if not self._refused:
            return ""
        if any(volume.is_claim for volume in pod.shape.volumes):
            fault = next((self._refused[kind] for kind in STORAGE if kind in self._refused), "")
            if fault:
                return fault
        if DEVICE_CLASSES in self._refused and _may_request_devices(pod, cluster):
            return self._refused[DEVICE_CLASSES]
        return ""

    def budgets_fault(self, pod: Pod) -> str:
        """Return why the pod must not preempt others now, and record that the pod waits; empty if budgets are known."""
        if self._without_budgets:
            self._waiting[pod.uid] = None
        return self._without_budgets

    def state(self) -> UnreadableState:
        """Return a copy of all fields."""
        return UnreadableState(dict(self._refused), self._without_budgets, list(self._waiting))

    def restore(self, state: UnreadableState) -> None:
        """Set all fields to the state of an earlier object."""
        self._refused, self._without_budgets = dict(state.refused), state.without_budgets
        self._waiting = dict.fromkeys(state.waiting)

    def _add(self, message: KindUnreadable) -> None:
        if message.is_refused:
            self._refused[message.kind] = message.error
        if message.kind == BUDGETS:
            self._without_budgets = message.error

    def _take_waiting(self) -> Iterable[str]:
        """Remove and return the uids of the waiting pods; none while budgets cannot be read."""
        if self._without_budgets:
            return ()
        waiting, self._waiting = self._waiting, {}
        return waiting


def _may_request_devices(pod: Pod, cluster: Snapshot) -> bool:
    """Return whether the pod requests an extended resource that no node has."""
    requested = (name for name, amount in pod.shape.requests.amounts if amount and is_extended_resource(name))
    return any(not cluster.allocatable(name).any() for name in requested)
