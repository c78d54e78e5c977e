"""Defines the recorded event and its events.k8s.io/v1 object, and builds the events about pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.outside_text import CUT, one_line
from moorage.runtime.api_resources import EVENT
from moorage.runtime.timestamps import micro_time

if TYPE_CHECKING:
    from collections.abc import Hashable

    from moorage.model.pods.pod import Pod

NOTE_BYTES = 1024
"""Upstream's NoteLengthLimit: the API server refuses longer notes."""
INSTANCE_CHARACTERS = 128
NAME_CHARACTERS = 253 - 17
"""The number of characters of the object's name that begin an event's name. A dot and 16 hexadecimal digits follow."""
CLUSTER_NAMESPACE = "default"
"""The namespace of events about cluster-scoped objects. kubectl looks for such events in this namespace."""


class ObjectReference(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The object that an event is about (`v1.ObjectReference`); `namespace` is empty for cluster-scoped objects."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event. `reporter` is the schedulerName of the profile; `warning` selects the type Warning or Normal."""

    regarding: ObjectReference
    reason: str
    action: str
    note: str
    reporter: str
    warning: bool = False
    related: ObjectReference | None = None
    repeats: bool = True
    """Whether repeated events form a series. False for an event that happens only once in the life of an object."""

    @property
    def key(self) -> Hashable:
        """A key that is equal for events of one series: all fields except note and time (client-go `getKey`)."""
        related = self.related and self.related.uid
        about = self.regarding
        return (about.kind, about.uid, about.name, related, self.reason, self.action, self.reporter, self.warning)

    @property
    def namespace(self) -> str:
        """The namespace of the Event object."""
        return self.regarding.namespace or CLUSTER_NAMESPACE

    def body(self, name: str, hostname: str, seconds: float) -> bytes:
        """Return the Event object as JSON; `seconds` is the time of the event, since the epoch."""
        return msgspec.json.encode(
            _EventBody(
                api_version=EVENT.api_version,
                kind=EVENT.kind,
                metadata=_EventMetadata(name, self.namespace),
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


class _EventMetadata(msgspec.Struct):
    name: str
    namespace: str


class _EventBody(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The Event object. A struct is used because it is encoded fast, and each bound pod has an event."""

    api_version: str
    kind: str
    metadata: _EventMetadata
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
    """Return a name for the Event object. Names with different `serial` numbers differ."""
    return f"{event.regarding.name[:NAME_CHARACTERS]}.{serial:016x}"


def cut_note(note: str) -> str:
    """Return a note as one line. If the note is too long for the API, cut it after a whole character and append CUT."""
    encoded = one_line(note, NOTE_BYTES).encode()
    if len(encoded) <= NOTE_BYTES:
        return encoded.decode()
    return encoded[: NOTE_BYTES - len(CUT)].decode("utf-8", "ignore") + CUT


def pod_reference(pod: Pod) -> ObjectReference:
    """Return a reference to a pod."""
    return ObjectReference("v1", "Pod", pod.name, pod.uid, pod.namespace, pod.resource_version)


def scheduled(pod: Pod, node_name: str, reporter: str) -> Event:
    """Return the event of a bound pod; the note is kube-scheduler's."""
    note = f"Successfully assigned {pod.key} to {node_name}"
    return Event(
        regarding=pod_reference(pod), reason="Scheduled", action="Binding", note=note, reporter=reporter, repeats=False
    )


def failed_scheduling(pod: Pod, message: str, reporter: str) -> Event:
    """Return the event of a pod that was not scheduled."""
    return Event(
        regarding=pod_reference(pod),
        reason="FailedScheduling",
        action="Scheduling",
        note=message,
        reporter=reporter,
        warning=True,
    )


def preempted(victim: Pod, preemptor: Pod, reporter: str) -> Event:
    """Return the event of an evicted victim; the note is kube-scheduler's."""
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


def preemption_failed(preemptor: Pod, note: str, reporter: str) -> Event:
    """Return the event of a preemptor whose victim was not evicted."""
    return Event(
        regarding=pod_reference(preemptor),
        reason="PreemptionFailed",
        action="Preempting",
        note=note,
        reporter=reporter,
        warning=True,
    )
