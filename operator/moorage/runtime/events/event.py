"""An event as it is recorded, and the events.k8s.io/v1 object that it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.runtime.api_resources import EVENT
from moorage.runtime.timestamps import micro_time

if TYPE_CHECKING:
    from collections.abc import Hashable

    from moorage.model.pods.pod import Pod

NOTE_BYTES = 1024
"""Upstream's NoteLengthLimit: the API server refuses longer notes."""
CUT = " ..."
INSTANCE_CHARACTERS = 128
NAME_CHARACTERS = 253 - 17
"""What is left of an object's name for the regarding one's, after a dot and 16 hexadecimal digits."""
CLUSTER_NAMESPACE = "default"
"""Where events about objects without a namespace live; kubectl looks for them there."""


class ObjectReference(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What an event is about (`v1.ObjectReference`); `namespace` is empty for objects of the cluster."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
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
        return msgspec.json.encode(
            _Body(
                api_version=EVENT.api_version,
                kind=EVENT.kind,
                metadata=_Metadata(name, self.namespace),
                event_time=micro_time(seconds),
                reporting_controller=self.reporter,
                reporting_instance=f"{self.reporter}-{hostname}"[:INSTANCE_CHARACTERS],
                action=self.action,
                reason=self.reason,
                regarding=self.regarding,
                related=self.related,
                note=cut_note(self.note),
                type="Warning" if self.warning else "Normal",
            )
        )


class _Metadata(msgspec.Struct):
    name: str
    namespace: str


class _Body(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The object that is written; a struct, as one is made for every pod that is bound."""

    api_version: str
    kind: str
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: ObjectReference
    note: str
    type: str
    related: ObjectReference | None = None


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
