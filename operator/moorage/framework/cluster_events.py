"""Cluster events: the changes of objects that the scheduler reacts to.

Informers and binder tasks post events to the inbox. The scheduling loop passes each event to `Scheduler.apply`.
Queueing hints receive the same events.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

POD_ADDED = "UnschedulablePodAdd"
"""The `label` of the event that adds a pod without a node."""
_GROUPS = {
    "CSINode": "storage.k8s.io/",
    "CSIDriver": "storage.k8s.io/",
    "CSIStorageCapacity": "storage.k8s.io/",
    "StorageClass": "storage.k8s.io/",
    "VolumeAttachment": "storage.k8s.io/",
    "DeviceClass": "resource.k8s.io/",
}
"""The API groups that upstream writes before some kinds in event names (kube-scheduler/framework/types.go)."""


class Action(Enum):
    """The kind of a change."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


class ClusterEvent(Struct, frozen=True):
    """One change of one object. `old` is None if the object was added, `new` is None if the object was deleted.

    `kind` is the object's Kubernetes kind (`Pod`, `Node`, `PersistentVolumeClaim`, ...).
    """

    kind: str
    action: Action
    old: Any
    new: Any

    @property
    def label(self) -> str:
        """The event's name in upstream's metrics: `NodeAdd`, `AssignedPodDelete`, `storage.k8s.io/CSINodeAdd`.

        Unlike upstream, the name of an update does not show which field has changed.
        """
        if self.kind == "Pod":
            newest = self.old if self.new is None else self.new
            return ("AssignedPod" if newest.node_name else "UnschedulablePod") + self.action.value
        return f"{_GROUPS.get(self.kind, '')}{self.kind}{self.action.value}"


def added(kind: str, new: object) -> ClusterEvent:
    """Return the event for a new object."""
    return ClusterEvent(kind, Action.ADD, None, new)


def updated(kind: str, old: object, new: object) -> ClusterEvent:
    """Return the event for a changed object."""
    return ClusterEvent(kind, Action.UPDATE, old, new)


def deleted(kind: str, old: object) -> ClusterEvent:
    """Return the event for a deleted object."""
    return ClusterEvent(kind, Action.DELETE, old, None)
