"""The metrics of `/metrics/resources`: the requests and limits of each pod, as the scheduler counts them.

The metrics have labels for pods and nodes, so `/metrics` does not include them.
Upstream: pkg/scheduler/metrics/resources/resources.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.utils import floatToGoString

from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from moorage.runtime.metrics.collectors import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.model.pods.pod import Pod
    from moorage.model.resources import Resources

REQUEST = "kube_pod_resource_request"
LIMIT = "kube_pod_resource_limit"
HELP = {
    REQUEST: "Resources requested by workloads on the cluster, broken down by pod. ",
    LIMIT: "Resources limit for workloads on the cluster, broken down by pod. ",
}
UNIT_HELP = (
    "This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the "
    "resource if any."
)
MILLI = 1000


def render_pod_resources(pods: Iterable[Pod]) -> bytes:
    """Return the requests and limits of all pods that have not ended, in Prometheus' text format."""
    lines: dict[str, list[str]] = {name: [] for name in HELP}
    for pod in pods:
        if pod.is_terminal:
            continue
        for name, resources in ((REQUEST, pod.shape.requests), (LIMIT, pod.shape.limits)):
            lines[name] += _samples(name, pod, resources)
    return "".join(_family(name, samples) for name, samples in sorted(lines.items())).encode()


def _family(name: str, samples: list[str]) -> str:
    if not samples:
        return ""
    return f"# HELP {name} {HELP[name]}{UNIT_HELP}\n# TYPE {name} gauge\n{''.join(samples)}"


def _samples(name: str, pod: Pod, resources: Resources) -> Iterator[str]:
    """Yield the lines of a pod. Only its schedulerName may contain characters that the text format escapes."""
    identity = f'namespace="{pod.namespace}",pod="{pod.name}",node="{pod.node_name}"'
    owner = f'scheduler="{_escaped(pod.scheduler_name)}",priority="{pod.priority}"'
    for resource, amount in resources.amounts:
        if amount:
            value = floatToGoString(amount / MILLI if resource == CPU else amount)  # type: ignore[no-untyped-call]
            yield f'{name}{{{identity},{owner},resource="{resource}",unit="{_unit(resource)}"}} {value}\n'


def _escaped(value: str) -> str:
    return bounded(value).replace("\\", r"\\").replace('"', r"\"")


def _unit(resource: str) -> str:
    if resource == CPU:
        return "cores"
    if resource in {MEMORY, EPHEMERAL_STORAGE, "storage"} or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
