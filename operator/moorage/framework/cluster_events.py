"""Cluster events: the changes of objects that the scheduler reacts to.

Informers and binder tasks post events to the inbox, and the scheduling loop passes each one to `Scheduler.apply`.
Queueing hints receive the same events.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct


class Action(Enum):
    """The kind of a change."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


class ClusterEvent(Struct, frozen=True):
    """One change of one object: `old` is None for ADD, `new` is None for DELETE.

    `kind` is the Kubernetes kind of the decoded object (`Pod`, `Node`, `PersistentVolumeClaim`, ...).
    """

    kind: str
    action: Action
    old: Any
    new: Any

    @property
    def label(self) -> str:
        """The event's name in metrics and logs, such as `NodeAdd`."""
        return f"{self.kind}{self.action.value}"


def added(kind: str, new: object) -> ClusterEvent:
    """Return the event for a new object."""
    return ClusterEvent(kind, Action.ADD, None, new)


def updated(kind: str, old: object, new: object) -> ClusterEvent:
    """Return the event for a changed object."""
    return ClusterEvent(kind, Action.UPDATE, old, new)


def deleted(kind: str, old: object) -> ClusterEvent:
    """Return the event for a deleted object."""
    return ClusterEvent(kind, Action.DELETE, old, None)
