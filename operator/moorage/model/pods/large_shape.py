"""The shape of a pod that is too large to be scheduled.

A user who may create pods can write a megabyte of affinity terms or resources into a pod. Each attempt to schedule such
a pod would take up to 25 MB of memory and 7 s. Therefore the scheduler refuses the pod. The pod can still run on a
node, for example because a user set `spec.nodeName`. So its shape has the fields that matter on a node, within the
limits below.
"""

from __future__ import annotations

from moorage.model.pods.api_pods import ApiPod
from moorage.model.pods.decode_amounts import decode_pod_amounts
from moorage.model.pods.decode_shape import host_ports_of, owner_of
from moorage.model.pods.pod import PodShape
from moorage.model.pods.requests import non_zero_requests, pod_requests, to_resources
from moorage.model.resources import Resources

MAX_SHAPE_BYTES = 100_000
"""The largest size of the JSON of all fields in a shape. A pod with a thousand affinity terms is smaller."""
MAX_LABELS = 1000
MAX_HOST_PORTS = 100
MAX_EXTENDED_RESOURCES = 64


def decode_large_shape(pod: ApiPod, namespace: str) -> PodShape:
    """Decode the shape of a pod that is too large; raise ValueError for an invalid amount."""
    metadata, spec = pod.metadata, pod.spec
    labels, amounts = metadata.labels or {}, decode_pod_amounts(spec)
    requests = _limited(to_resources(pod_requests(amounts)))
    return PodShape(
        namespace=namespace,
        labels=labels if len(labels) <= MAX_LABELS else {},
        owner=owner_of(metadata),
        requests=requests,
        score_requests=requests,
        non_zero_requests=_limited(to_resources(non_zero_requests(amounts))),
        host_ports=host_ports_of(spec)[:MAX_HOST_PORTS],
        container_count=len(spec.containers or ()) + len(spec.init_containers or ()),
        is_too_large=True,
    )


def _limited(resources: Resources) -> Resources:
    """Return all native resources and at most MAX_EXTENDED_RESOURCES extended resources."""
    native = [amount for amount in resources.amounts if "/" not in amount[0]]
    extended = [amount for amount in resources.amounts if "/" in amount[0]]
    return Resources(tuple(sorted(native + extended[:MAX_EXTENDED_RESOURCES])))
