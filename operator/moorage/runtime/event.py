"""An event as it is recorded, and the events.k8s.io/v1 object that it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.runtime.resources import EVENT
from moorage.runtime.timestamps import micro_time

if TYPE_CHECKING:
    from collections.abc import Hashable

    from moorage.model.pod import Pod

NOTE_BYTES = 1024
"""Upstream's NoteLengthLimit: the API server refuses longer notes."""
CUT = " ..."
INSTANCE_CHARACTERS = 128
NAME_CHARACTERS = 253 - 17
"""What is left of an object's name for the regarding one's, after a dot and 16 hexadecimal digits."""
CLUSTER_NAMESPACE = "default"
"""Where events about objects without a namespace live; kubectl looks for them there."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """What an event is about; `namespace` is empty for objects of the cluster."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""

    def body(self) -> dict[str, str]:
        """Return the `v1.ObjectReference`."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to tell. `reporter` is the schedulerName of the profile; `warning` tells trouble from routine."""

    regarding: ObjectReference
    reason: str
    action: str
    note: str
    reporter: str
    warning: bool = False
    related: ObjectReference | None = None
    repeats: bool = True
    """False for what happens once in an object's life: no series is kept."""

    @property
    def key(self) -> Hashable:
        """What makes two events one series (client-go `getKey`: all but note and time)."""
        related = self.related and self.related.uid
        about = self.regarding
        return (about.kind, about.uid, about.name, related, self.reason, self.action, self.reporter, self.warning)

    @property
    def namespace(self) -> str:
        """Where the Event object lives."""
        return self.regarding.namespace or CLUSTER_NAMESPACE

    def body(self, name: str, hostname: str, seconds: float) -> bytes:
        """Return the Event object, seen at `seconds` since the epoch."""
        body: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "eventTime": micro_time(seconds),
            "reportingController": self.reporter,
            "reportingInstance": f"{self.reporter}-{hostname}"[:INSTANCE_CHARACTERS],
            "action": self.action,
            "reason": self.reason,
            "regarding": self.regarding.body(),
            "note": cut_note(self.note),
            "type": "Warning" if self.warning else "Normal",
        }
        if self.related:
            body["related"] = self.related.body()
        return msgspec.json.encode(body)


def event_name(event: Event, serial: int) -> str:
    """Return a name for the Event object, unique for the `serial`."""
    return f"{event.regarding.name[:NAME_CHARACTERS]}.{serial:016x}"


def cut_note(note: str) -> str:
    """Shorten a note to what the API takes, at a character's boundary, and show that it was."""
    encoded = note.encode()
    if len(encoded) <= NOTE_BYTES:
        return note
    return encoded[: NOTE_BYTES - len(CUT)].decode("utf-8", "ignore") + CUT


def pod_reference(pod: Pod) -> ObjectReference:
    """Refer to a pod."""
    return ObjectReference("v1", "Pod", pod.name, pod.uid, pod.namespace, pod.resource_version)


def scheduled(pod: Pod, node_name: str, reporter: str) -> Event:
    """Say that a pod was bound, in kube-scheduler's words."""
    note = f"Successfully assigned {pod.key} to {node_name}"
    return Event(
        regarding=pod_reference(pod), reason="Scheduled", action="Binding", note=note, reporter=reporter, repeats=False
    )


def failed_scheduling(pod: Pod, message: str, reporter: str) -> Event:
    """Say why a pod was not scheduled."""
    return Event(
        regarding=pod_reference(pod),
        reason="FailedScheduling",
        action="Scheduling",
        note=message,
        reporter=reporter,
        warning=True,
    )


def preempted(victim: Pod, preemptor: Pod, reporter: str) -> Event:
    """Say that a pod had to give way."""
    note = f"Preempted by pod {preemptor.uid} on node {victim.node_name}"
    return Event(
        regarding=pod_reference(victim),
        related=pod_reference(preemptor),
        reason="Preempted",
        action="Preempting",
        note=note,
        reporter=reporter,
        repeats=False,
    )
