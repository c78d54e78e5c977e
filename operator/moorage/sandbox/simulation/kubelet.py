"""One simulated kubelet for all nodes: starts what is bound, refuses what does not fit, finishes deletions."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from moorage.model.quantity import milli_value, value
from moorage.sandbox.http.targets import Target
from moorage.sandbox.kinds.pod_verbs import PODS
from moorage.sandbox.kinds.pods import is_terminal
from moorage.sandbox.objects import Object, dig, find_condition, metadata
from moorage.sandbox.storage.changes import Feed
from moorage.sandbox.storage.deletion import purge
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.store import DELETED, Change, Record

_POD_NETWORK = ipaddress.ip_network("10.128.0.0/9")
_NODES = "nodes."


class Kubelet:
    """Runs pods by writing their status, at once: no image is pulled and no container takes time to stop."""

    def __init__(self, registry: Registry) -> None:
        """Run pods of a registry."""
        self._registry = registry
        pods = registry.resources.find("", "v1", "pods")
        assert pods is not None
        self._pods = pods
        self._addresses: Iterator[object] = _POD_NETWORK.hosts()
        self._running: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        """Requests by node and pod uid."""

    async def run(self) -> None:
        """Serve until cancelled."""
        store = self._registry.store
        known = store.records(PODS)
        with Feed(store, PODS, store.revision) as feed:
            for record in known:
                self._sync(record)
            while True:
                for change in await feed.changes():
                    self._see(change)

    def _see(self, change: Change) -> None:
        if change.kind == DELETED:
            self._forget(change.record.obj)
            return
        meta = change.record.obj["metadata"]
        current = self._registry.store.get(PODS, (meta["namespace"], meta["name"]))
        if current is change.record:
            self._sync(current)

    def _sync(self, record: Record) -> None:
        """Do what the pod's state calls for; what calls for nothing is left alone."""
        pod = record.obj
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            return
        meta = metadata(pod)
        if meta.get("deletionTimestamp"):
            self._forget(pod)
            purge(self._registry, Target(self._pods, meta["namespace"], meta["name"]))
        elif is_terminal(pod):
            self._forget(pod)
        elif meta["uid"] not in self._running[node_name]:
            self._admit(record, node_name)

    def _admit(self, record: Record, node_name: str) -> None:
        node = self._registry.store.get(_NODES, ("", node_name))
        if node is None:
            return
        pod = record.obj
        requests = pod_requests(pod)
        lacking = self._lacking(node, requests)
        if lacking:
            self._write_status(record, self._refusal(node, requests, lacking))
            return
        self._running[node_name][pod["metadata"]["uid"]] = requests
        if dig(pod, "status", "phase") == "Pending":
            self._write_status(record, self._running_status(pod, node.obj))

    def _lacking(self, node: Record, requests: dict[str, int]) -> str:
        """Name the first resource of which the node has too little, empty if it has enough of all."""
        allocatable = _allocatable(node)
        # An extended resource that no device plugin reports is somebody else's business, such as an extender's.
        own = (name for name in requests if "/" not in name or name in allocatable)
        order = sorted(own, key=lambda name: (name not in {"pods", "cpu", "memory"}, name))
        used = self._used(node)
        return next((name for name in order if used[name] + requests[name] > allocatable.get(name, 0)), "")

    def _used(self, node: Record) -> dict[str, int]:
        total: dict[str, int] = defaultdict(int)
        for requests in self._running[node.obj["metadata"]["name"]].values():
            for name, amount in requests.items():
                total[name] += amount
        return total

    def _refusal(self, node: Record, requests: dict[str, int], lacking: str) -> Object:
        numbers = (requests[lacking], self._used(node)[lacking], _allocatable(node).get(lacking, 0))
        message = "Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}"
        return {"phase": "Failed", "reason": f"OutOf{lacking}", "message": message.format(lacking, *numbers)}

    def _running_status(self, pod: Object, node: Object) -> Object:
        now = self._registry.strategies.stamp()
        host = next((item["address"] for item in dig(node, "status", "addresses") or ()), "")
        address = host if pod["spec"].get("hostNetwork") else str(next(self._addresses))
        status = {name: item for name, item in pod["status"].items() if name != "nominatedNodeName"}
        kept = [condition for condition in (find_condition(pod, "PodScheduled"),) if condition]
        made = [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
        ]
        containers = [
            {
                "name": container["name"], "image": container.get("image", ""), "imageID": "", "ready": True,
                "started": True, "restartCount": 0, "state": {"running": {"startedAt": now}}, "lastState": {},
            }
            for container in pod["spec"]["containers"]
        ]  # fmt: skip
        return status | {
            "phase": "Running", "conditions": kept + made, "containerStatuses": containers, "startTime": now,
            "hostIP": host, "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}],
        }  # fmt: skip

    def _write_status(self, record: Record, status: Object) -> None:
        pod = record.obj
        new = pod | {"metadata": dict(pod["metadata"]), "status": {**pod["status"], **status}}
        self._registry.store.update(PODS, new, record)

    def _forget(self, pod: Object) -> None:
        node_name = pod["spec"].get("nodeName")
        if node_name:
            self._running[node_name].pop(pod["metadata"]["uid"], None)


def pod_requests(pod: Object) -> dict[str, int]:
    """Sum up what a pod takes of a node: cpu in milli, all else in whole units, and one of `pods`."""
    spec = pod["spec"]
    total = _sum(_requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        requests = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, requests])
            requests = {}
        peak = _max(peak, _sum([sidecars, requests]))
    own = _max(_sum([total, sidecars]), peak) | _amounts(dig(spec, "resources", "requests") or {})
    return _sum([own, _amounts(spec.get("overhead") or {})]) | {"pods": 1}


def _requests(container: Object) -> dict[str, int]:
    return _amounts(dig(container, "resources", "requests") or {})


def _amounts(quantities: Object) -> dict[str, int]:
    return {name: milli_value(quantity) if name == "cpu" else value(quantity) for name, quantity in quantities.items()}


def _allocatable(node: Record) -> dict[str, int]:
    return _amounts(dig(node.obj, "status", "allocatable") or {})


def _sum(parts: "Iterator[dict[str, int]] | list[dict[str, int]]") -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for part in parts:
        for name, amount in part.items():
            total[name] += amount
    return dict(total)


def _max(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in first.keys() | second.keys()}
