"""From JSON to digested objects: the one door through which API objects enter.

A `Decoder` owns the intern tables, which are weak: a shape is dropped with its last pod. What cannot be read raises
ValueError with the path of the field; who watches logs it and goes on with the next object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec import json

from moorage.model.node import Node, Taint
from moorage.model.pods.api_pods import Amounts, ApiNode, ApiPod, ApiPodStatus
from moorage.model.pods.decode_amounts import placed_amounts, pod_amounts, resize_key
from moorage.model.pods.decode_shape import digest_shape, value_key, wire_key
from moorage.model.pods.pod import Pod, PodShape
from moorage.model.pods.requests import non_zero_requests, pod_requests, to_resources
from moorage.model.quantity import milli_value, value
from moorage.model.resources import CPU, Resources
from moorage.model.volumes.decode_volumes import STORAGE_DIGESTS
from moorage.model.workloads.decode_workloads import WORKLOAD_DIGESTS

_MAX_RESIZES = 64  # amounts remembered a shape; pods of one template are seldom resized to many different sizes


class Decoder:
    """Digests API objects, sharing what equal pods have in common."""

    def __init__(self) -> None:
        self._shapes_by_wire: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()
        self._shapes_by_value: WeakValueDictionary[tuple[object, ...], PodShape] = WeakValueDictionary()
        self._resizes: WeakKeyDictionary[PodShape, dict[bytes, tuple[Resources, Resources]]] = WeakKeyDictionary()
        self._read_pod = json.Decoder(ApiPod).decode
        self._read_node = json.Decoder(ApiNode).decode
        self._digests: dict[str, Callable[[bytes], object]] = {
            "Pod": self.pod,
            "Node": self.node,
            **WORKLOAD_DIGESTS,
            **STORAGE_DIGESTS,
        }

    def decode(self, kind: str, raw: bytes) -> Any:
        """Digest an object of one of `KINDS`; raise ValueError with the field's path where it cannot be read."""
        return self._digests[kind](raw)

    def decode_object(self, kind: str, body: Mapping[str, Any]) -> Any:
        """Digest an object that is parsed already, as from a YAML file."""
        return self.decode(kind, json.encode(body))

    def pod(self, raw: bytes, *, keep_raw: bool = False) -> Pod:
        """Digest a pod; `keep_raw` keeps the bytes too, for extenders, as long as the pod waits."""
        wire = self._read_pod(raw)
        metadata, spec, status = wire.metadata, wire.spec, wire.status
        shape = self._shape(wire)
        requests, non_zero = self._placed(shape, wire)
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
            raw=raw if keep_raw and not spec.node_name else b"",
        )

    def node(self, raw: bytes, *, keep_raw: bool = False) -> Node:
        """Digest a node; an amount that cannot be read counts as none of that resource."""
        wire = self._read_node(raw)
        metadata, spec, status = wire.metadata, wire.spec, wire.status
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

    def _shape(self, wire: ApiPod) -> PodShape:
        """Look the shape up by its bytes, else digest it and look for an equal one."""
        key = wire_key(wire)
        shape = self._shapes_by_wire.get(key)
        if shape is None:
            digested = digest_shape(wire, wire.metadata.namespace or "default")
            shape = self._shapes_by_value.setdefault(value_key(digested), digested)
            self._shapes_by_wire[key] = shape
        return shape

    def _placed(self, shape: PodShape, wire: ApiPod) -> tuple[Resources, Resources]:
        """Return what the pod takes on its node, plain and with defaults filled in."""
        key = resize_key(wire.spec, wire.status)
        if key is None:
            return shape.requests, shape.non_zero_requests
        known = self._resizes.setdefault(shape, {})
        if key not in known:
            if len(known) >= _MAX_RESIZES:
                known.clear()
            placed = placed_amounts(pod_amounts(wire.spec), wire.status)
            known[key] = to_resources(pod_requests(placed)), to_resources(non_zero_requests(placed))
        return known[key]


KINDS = ("Pod", "Node", *WORKLOAD_DIGESTS, *STORAGE_DIGESTS)
"""The kinds that can be digested."""


def _allocatable(wire: Amounts) -> Resources:
    known: dict[str, int] = {}
    for name, quantity in wire.items():
        try:
            known[name] = milli_value(quantity) if name == CPU else value(quantity)
        except ValueError:
            known[name] = 0
    return Resources(tuple(sorted(known.items())))


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
