"""What happens in a cluster, as the scheduler is told of it.

Informers and binder tasks post these to the inbox; the scheduling loop hands each to `Scheduler.apply`. They are also
what queueing hints are asked about.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct


class Action(Enum):
    """What happened to an object."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


class ClusterEvent(Struct, frozen=True):
    """One change of one object: `old` is None for ADD, `new` is None for DELETE.

    `kind` is the Kubernetes kind of the digested object (`Pod`, `Node`, `PersistentVolumeClaim`, ...).
    """

    kind: str
    action: Action
    old: Any
    new: Any

    @property
    def label(self) -> str:
        """The name that metrics and logs use, such as `NodeAdd`."""
        return f"{self.kind}{self.action.value}"


def added(kind: str, new: object) -> ClusterEvent:
    """Tell of an object that is new to the watcher."""
    return ClusterEvent(kind, Action.ADD, None, new)


def updated(kind: str, old: object, new: object) -> ClusterEvent:
    """Tell of an object's change."""
    return ClusterEvent(kind, Action.UPDATE, old, new)


def deleted(kind: str, old: object) -> ClusterEvent:
    """Tell of an object that is gone."""
    return ClusterEvent(kind, Action.DELETE, old, None)
