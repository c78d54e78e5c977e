"""Resource amounts of pods and nodes, as the kubelet compares them."""

from collections import defaultdict
from collections.abc import Iterable

from moorage.model.quantity import milli_value, value
from moorage.sandbox.objects import Object, dig


def pod_requests(pod: Object) -> dict[str, int]:
    """Return the requests of a pod: cpu in milli-CPU, other resources in their base units, and 1 for `pods`."""
    spec = pod["spec"]
    total = total_requests(_requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        requests = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = total_requests([sidecars, requests])
            requests = {}
        peak = _max(peak, total_requests([sidecars, requests]))
    own = _max(total_requests([total, sidecars]), peak) | _amounts(dig(spec, "resources", "requests") or {})
    return total_requests([own, _amounts(spec.get("overhead") or {})]) | {"pods": 1}


def allocatable(node: Object) -> dict[str, int]:
    """Return the allocatable amounts of a node, in the units of `pod_requests`."""
    return _amounts(dig(node, "status", "allocatable") or {})


def total_requests(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sum of requests."""
    total: dict[str, int] = defaultdict(int)
    for part in parts:
        for name, amount in part.items():
            total[name] += amount
    return dict(total)


def _requests(container: Object) -> dict[str, int]:
    return _amounts(dig(container, "resources", "requests") or {})


def _amounts(quantities: Object) -> dict[str, int]:
    return {name: milli_value(quantity) if name == "cpu" else value(quantity) for name, quantity in quantities.items()}


def _max(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in first.keys() | second.keys()}
