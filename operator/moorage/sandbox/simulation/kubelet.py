"""One simulated kubelet for all nodes: starts bound pods, rejects pods that do not fit, and finishes deletions."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from moorage.sandbox.kinds.pod_state import is_terminal
from moorage.sandbox.kinds.resource_types import NODES, PODS
from moorage.sandbox.objects import Object, dig, find_condition, metadata
from moorage.sandbox.operations.deletion import finish_pod_deletion
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.simulation.pod_requests import allocatable, pod_requests, total_requests
from moorage.sandbox.storage.change_feed import ChangeFeed
from moorage.sandbox.storage.store import DELETED, Change, Record

_POD_NETWORK = ipaddress.ip_network("10.128.0.0/9")


class Kubelet:
    """The kubelet of all nodes. Its pods start and stop at once."""

    def __init__(self, registry: ObjectRegistry) -> None:
        """Run the pods of `registry`."""
        self._registry = registry
        self._addresses: Iterator[object] = _POD_NETWORK.hosts()
        self._running: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        """The requests of running pods, by node name and pod uid."""

    async def run(self) -> None:
        """Sync pods until the task is cancelled."""
        store = self._registry.store
        known = store.records(PODS)
        with ChangeFeed(store, PODS, store.revision) as feed:
            for record in known:
                self._sync(record)
            while True:
                for change in await feed.changes():
                    self._handle(change)

    def _handle(self, change: Change) -> None:
        if change.kind == DELETED:
            self._forget(change.record.obj)
            return
        meta = change.record.obj["metadata"]
        current = self._registry.store.get(PODS, (meta["namespace"], meta["name"]))
        if current is change.record:
            self._sync(current)

    def _sync(self, record: Record) -> None:
        """Start a bound pod, finish its deletion, or forget it if it has ended. Ignores unbound and running pods."""
        pod = record.obj
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            return
        meta = metadata(pod)
        if meta.get("deletionTimestamp"):
            self._forget(pod)
            finish_pod_deletion(self._registry, Target(self._registry.resources.pods, meta["namespace"], meta["name"]))
        elif is_terminal(pod):
            self._forget(pod)
        elif meta["uid"] not in self._running[node_name]:
            self._admit(record, node_name)

    def _admit(self, record: Record, node_name: str) -> None:
        node = self._registry.store.get(NODES, ("", node_name))
        if node is None:
            return
        pod = record.obj
        requests = pod_requests(pod)
        is_new = dig(pod, "status", "phase") == "Pending"  # the pods of a dump run already
        lacking = self._find_lacking_resource(node, requests)
        if lacking and is_new:
            self._write_status(record, self._rejected_status(node, requests, lacking))
            return
        self._running[node_name][pod["metadata"]["uid"]] = requests
        if is_new:
            self._write_status(record, self._running_status(pod, node.obj))

    def _find_lacking_resource(self, node: Record, requests: dict[str, int]) -> str:
        """Return the first resource of which the node has too little for the requests, or an empty string."""
        capacity = allocatable(node.obj)
        # Like the real kubelet, ignore an extended resource that no device plugin reports: a scheduler extender may
        # manage it.
        own = (name for name in requests if "/" not in name or name in capacity)
        order = sorted(own, key=lambda name: (name not in {"pods", "cpu", "memory"}, name))
        used = self._used(node)
        return next((name for name in order if used.get(name, 0) + requests[name] > capacity.get(name, 0)), "")

    def _used(self, node: Record) -> dict[str, int]:
        return total_requests(self._running[node.obj["metadata"]["name"]].values())

    def _rejected_status(self, node: Record, requests: dict[str, int], lacking: str) -> Object:
        numbers = (requests[lacking], self._used(node).get(lacking, 0), allocatable(node.obj).get(lacking, 0))
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
