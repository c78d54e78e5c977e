"""Writes the engine's objects as values for msgpack, and reads them.

The pods of one template share a shape. A shape has a number, which is defined before its first use. The numbers keep
the identity of shapes, which the engine compares. The raw JSON of objects is left out, because only extenders read it,
and because it has annotations and environment variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import convert, defstruct, structs
from pydantic import BaseModel

from moorage.model.device_class import DeviceClass
from moorage.model.node import Node
from moorage.model.pods.pod import Pod, PodShape
from moorage.model.resources import Resources
from moorage.model.volumes import storage_objects as storage
from moorage.model.workloads import workload_objects as workloads
from moorage.recording.recording_faults import UnusableRecording

POD = "Pod"
NODE = "Node"
KINDS: Mapping[str, type] = {
    NODE: Node,
    "Namespace": workloads.Namespace,
    "Service": workloads.Service,
    "ReplicationController": workloads.Controller,
    "ReplicaSet": workloads.Controller,
    "StatefulSet": workloads.Controller,
    "PodDisruptionBudget": workloads.PodDisruptionBudget,
    "PersistentVolumeClaim": storage.PersistentVolumeClaim,
    "PersistentVolume": storage.PersistentVolume,
    "StorageClass": storage.StorageClass,
    "CSINode": storage.CSINode,
    "CSIDriver": storage.CSIDriver,
    "CSIStorageCapacity": storage.CSIStorageCapacity,
    "VolumeAttachment": storage.VolumeAttachment,
    "DeviceClass": DeviceClass,
}
"""The class of each kind's objects, except of pods."""

_OWN_FIELDS = [
    each for each in structs.fields(Pod) if each.name not in {"shape", "raw", "requests", "non_zero_requests"}
]
PodRecord = defstruct(
    "PodRecord",
    [
        ("shape", int),
        ("requests", Resources | None),
        ("non_zero_requests", Resources | None),
        *((each.name, each.type) for each in _OWN_FIELDS),
    ],
    array_like=True,
    frozen=True,
)
"""A pod with the number of its shape. Requests that equal those of the shape are None."""
_own_values: Callable[[Pod], tuple[Any, ...]] = attrgetter(*(each.name for each in _OWN_FIELDS))
_OWN_NAMES = [each.name for each in _OWN_FIELDS]

Define = Callable[[int, PodShape], None]


class ObjectWriter:
    """A writer that numbers shapes. `define` is called before the first use of a number."""

    def __init__(self, define: Define) -> None:
        """Start with no shapes."""
        self._define = define
        self._numbers: WeakKeyDictionary[PodShape, int] = WeakKeyDictionary()
        self._next = 0

    def write(self, kind: str, thing: Any) -> Any:
        """Return the value for an object of a kind."""
        if kind == POD:
            return self.write_pod(thing)
        return replace(thing, raw=b"") if kind == NODE and thing.raw else thing

    def write_pod(self, pod: Pod) -> Any:
        """Return the value for a pod."""
        shape = pod.shape
        number = self._numbers.get(shape)
        if number is None:
            number = self._numbers[shape] = self._next
            self._next += 1
            self._define(number, shape)
        return PodRecord(
            number,
            None if pod.requests == shape.requests else pod.requests,
            None if pod.non_zero_requests == shape.non_zero_requests else pod.non_zero_requests,
            *_own_values(pod),
        )


class ObjectReader:
    """A reader of the values that `ObjectWriter` returns. It raises MsgspecError for other values."""

    def __init__(self) -> None:
        """Start with no shapes."""
        self._shapes: dict[int, PodShape] = {}

    def define(self, number: int, value: Any) -> None:
        """Read the definition of a shape."""
        self._shapes[number] = convert(value, PodShape)

    def read(self, kind: str, value: Any) -> Any:
        """Read an object of a kind."""
        return self.read_pod(value) if kind == POD else convert(value, _class_of(kind))

    def read_pod(self, value: Any) -> Pod:
        """Read a pod."""
        record: Any = convert(value, PodRecord)
        shape = self._shapes.get(record.shape)
        if shape is None:
            raise UnusableRecording(f"the recording has a pod {record.name} whose shape it does not define")
        return Pod(
            shape=shape,
            requests=shape.requests if record.requests is None else record.requests,
            non_zero_requests=shape.non_zero_requests if record.non_zero_requests is None else record.non_zero_requests,
            **dict(zip(_OWN_NAMES, _own_values(record), strict=True)),
        )


def as_plain(value: Any) -> Any:
    """Convert a value of a type that msgpack does not know to a value of a type that msgpack knows."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    raise TypeError(f"a recording cannot hold a {type(value).__name__}")


def _class_of(kind: str) -> type:
    found = KINDS.get(kind)
    if found is None:
        raise UnusableRecording(f"the recording has an object of the unknown kind {kind}")
    return found
