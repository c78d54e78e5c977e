"""Decodes API objects from JSON; every object enters the scheduler through a `Decoder`.

The shape of a pod holds the fields that all pods of one template share. A `Decoder` keeps one object for each distinct
shape, and drops the object together with the last pod of the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec import json

from moorage.model.api_nodes import ApiNode
from moorage.model.device_class import decode_device_class
from moorage.model.node import Node, Taint
from moorage.model.pods.api_pods import ApiPod, ApiPodStatus
from moorage.model.pods.decode_amounts import decode_pod_amounts, placed_amounts, resize_key
from moorage.model.pods.decode_shape import decode_shape, raw_key, value_key
from moorage.model.pods.large_shape import MAX_SHAPE_BYTES, decode_large_shape
from moorage.model.pods.pod import Pod, PodShape
from moorage.model.pods.requests import non_zero_requests, pod_requests, to_resources
from moorage.model.quantity import Amounts, milli_value, value
from moorage.model.resources import CPU, Resources
from moorage.model.volumes.decode_storage import STORAGE_DECODERS
from moorage.model.volumes.decode_volumes import VOLUME_DECODERS
from moorage.model.workloads.decode_workloads import WORKLOAD_DECODERS

_MAX_RESIZES = 64  # cached amounts for each shape; the pods of one template are rarely resized to more sizes


class Decoder:
    """A decoder that gives pods with equal shapes the same `PodShape` object."""

    def __init__(self) -> None:
        self._shapes_by_raw_key: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()
        self._shapes_by_value: WeakValueDictionary[tuple[object, ...], PodShape] = WeakValueDictionary()
        self._resizes: WeakKeyDictionary[PodShape, dict[bytes, tuple[Resources, Resources]]] = WeakKeyDictionary()
        self._read_pod = json.Decoder(ApiPod).decode
        self._read_node = json.Decoder(ApiNode).decode
        self._decoders: dict[str, Callable[[bytes], object]] = {
            "Pod": self.decode_pod,
            "Node": self.decode_node,
            **WORKLOAD_DECODERS,
            **VOLUME_DECODERS,
            **STORAGE_DECODERS,
            "DeviceClass": decode_device_class,
        }

    def decode(self, kind: str, raw: bytes) -> Any:
        """Decode an object of a kind that the scheduler watches; raise ValueError with the path of an invalid field."""
        return self._decoders[kind](raw)

    def decode_object(self, kind: str, body: Mapping[str, Any]) -> Any:
        """Decode an object that is already parsed, for example from a YAML file."""
        return self.decode(kind, json.encode(body))

    def decode_pod(self, raw: bytes) -> Pod:
        """Decode a pod."""
        api = self._read_pod(raw)
        metadata, spec, status = api.metadata, api.spec, api.status
        shape = self._intern_shape(api)
        requests, non_zero = self._placed_requests(shape, api)
        return Pod(
            uid=metadata.uid or f"{shape.namespace}/{metadata.name}",
            name=metadata.name,
            shape=shape,
            resource_version=metadata.resource_version,
            generation=metadata.generation,
            node_name=spec.node_name,
            nominated_node_name=status.nominated_node_name,
            scheduler_name=spec.scheduler_name or "default-scheduler",
            phase=status.phase,
            priority=spec.priority or 0,
            preemption_policy=spec.preemption_policy or "PreemptLowerPriority",
            creation_timestamp=metadata.creation_timestamp.timestamp() if metadata.creation_timestamp else 0.0,
            start_time=status.start_time.timestamp() if status.start_time else None,
            terminating=metadata.deletion_timestamp is not None,
            scheduling_gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
            required_node_name=spec.node_name,
            requests=requests,
            non_zero_requests=non_zero,
            disruption_target=_disruption_target(status),
            scheduled_condition=_scheduled_condition(status),
        )

    def decode_node(self, raw: bytes, *, keep_raw: bool = False) -> Node:
        """Decode a node; an allocatable amount that is not a quantity counts as 0."""
        api = self._read_node(raw)
        metadata, spec, status = api.metadata, api.spec, api.status
        return Node(
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            labels=metadata.labels or {},
            unschedulable=spec.unschedulable,
            taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in spec.taints or ()),
            allocatable=_allocatable(status.allocatable or {}),
            images=tuple((name, image.size_bytes) for image in status.images or () for name in image.names or ()),
            declared_features=frozenset(status.declared_features or ()),
            raw=raw if keep_raw else b"",
        )

    def _intern_shape(self, api: ApiPod) -> PodShape:
        """Return the one object for the pod's shape; decode it only if the JSON of its fields is new."""
        key = raw_key(api)
        if len(key) > MAX_SHAPE_BYTES:
            large = decode_large_shape(api, api.metadata.namespace or "default")
            return self._shapes_by_value.setdefault(value_key(large), large)
        shape = self._shapes_by_raw_key.get(key)
        if shape is None:
            decoded = decode_shape(api, api.metadata.namespace or "default")
            shape = self._shapes_by_value.setdefault(value_key(decoded), decoded)
            self._shapes_by_raw_key[key] = shape
        return shape

    def _placed_requests(self, shape: PodShape, api: ApiPod) -> tuple[Resources, Resources]:
        """Return the pod's `requests` and `non_zero_requests`, including in-place resizes."""
        key = resize_key(api.spec, api.status)
        if key is None:
            return shape.requests, shape.non_zero_requests
        resizes = self._resizes.setdefault(shape, {})
        if key not in resizes:
            if len(resizes) >= _MAX_RESIZES:
                resizes.clear()
            placed = placed_amounts(decode_pod_amounts(api.spec), api.status)
            resizes[key] = to_resources(pod_requests(placed)), to_resources(non_zero_requests(placed))
        return resizes[key]


def _allocatable(amounts: Amounts) -> Resources:
    result: dict[str, int] = {}
    for name, quantity in amounts.items():
        try:
            result[name] = milli_value(quantity) if name == CPU else value(quantity)
        except ValueError:
            result[name] = 0
    return Resources(tuple(sorted(result.items())))


def _disruption_target(status: ApiPodStatus) -> str:
    for condition in status.conditions or ():
        if condition.type == "DisruptionTarget" and condition.status == "True":
            return condition.reason
    return ""


def _scheduled_condition(status: ApiPodStatus) -> tuple[str, str, str] | None:
    for condition in status.conditions or ():
        if condition.type == "PodScheduled":
            return condition.status, condition.reason, condition.message
    return None
