"""Encodes the requests of kube-scheduler's extender protocol.

The keys are Go's field names, because upstream's structs have no JSON tags. The values are whole Kubernetes objects.
The functions raise ValueError if a whole object is not available.
Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from moorage.engine.candidate import Candidate

if TYPE_CHECKING:
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod


def encode_args(
    pod: Pod, nodes: Mapping[str, Node], *, names_only: bool, show: Callable[[bytes], bytes] = bytes
) -> bytes:
    """Return the body of a filter or a prioritize call. `show` returns the part of the pod's object to send."""
    shown = _raw_object(pod, show)
    if names_only:
        arguments = _ExtenderArgs(shown, None, list(nodes))
    else:
        arguments = _ExtenderArgs(shown, _NodeList([_raw_object(node) for node in nodes.values()]), None)
    return msgspec.json.encode(arguments)


def encode_binding_args(pod: Pod, node_name: str) -> bytes:
    """Return the body of a bind call."""
    return msgspec.json.encode(_ExtenderBindingArgs(pod.name, pod.namespace, pod.uid, node_name))


def encode_preemption_args(
    pod: Pod,
    candidates: Sequence[Candidate],
    objects: Mapping[str, bytes] | None,
    show: Callable[[bytes], bytes] = bytes,
) -> bytes:
    """Return the body of a preempt call.

    `objects` are the victims' objects by uid. If `objects` is None, only the uids are sent.

    `show` returns the part of a pod's object to send.
    """
    whole = meta = None
    if objects is None:
        meta = {
            candidate.node_name: _MetaVictims([_MetaPod(pod.uid) for pod in candidate.victims], candidate.violations)
            for candidate in candidates
        }
    else:
        whole = {
            candidate.node_name: _Victims(
                [Raw(show(objects[victim.uid])) for victim in candidate.victims], candidate.violations
            )
            for candidate in candidates
        }
    return msgspec.json.encode(_ExtenderPreemptionArgs(_raw_object(pod, show), whole, meta))


class _NodeList(Struct):
    items: Sequence[Raw]
    metadata: dict[str, str] = {}


class _ExtenderArgs(Struct, rename="pascal"):
    pod: Raw
    nodes: _NodeList | None
    node_names: Sequence[str] | None


class _ExtenderBindingArgs(Struct):
    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


class _Victims(Struct):
    Pods: Sequence[Raw]
    NumPDBViolations: int


class _MetaPod(Struct):
    UID: str


class _MetaVictims(Struct):
    Pods: Sequence[_MetaPod]
    NumPDBViolations: int


class _ExtenderPreemptionArgs(Struct, rename="pascal"):
    pod: Raw
    node_name_to_victims: Mapping[str, _Victims] | None
    node_name_to_meta_victims: Mapping[str, _MetaVictims] | None


def _raw_object(thing: Pod | Node, show: Callable[[bytes], bytes] = bytes) -> Raw:
    """Return the part of the API server's object that `show` returns; by default the whole object."""
    if not thing.raw:
        raise ValueError(f"the whole object of {type(thing).__name__.lower()} {thing.name} is not available")
    return Raw(show(thing.raw))
