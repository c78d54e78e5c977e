"""A private copy of the cluster, on which a search may try changes while the scheduler goes on."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.request_mix import Shares
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cache import NAMESPACE, Cache
from moorage.framework.cluster_events import added
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.workloads.workload_objects import Namespace


class ClusterContent(Struct, frozen=True):
    """The objects of a cluster at one moment. All of them are immutable, so another thread may read them."""

    nodes: tuple[Node, ...]
    """The nodes in the order of their slots."""
    pods: tuple[Pod, ...]
    """Pods with a node, including assumed pods."""
    nominated: tuple[tuple[Pod, str], ...]
    """Nominated pods and their nodes."""
    objects: Mapping[str, tuple[Any, ...]]
    """All other objects by kind."""
    request_shares: Shares = ()

    def build(self) -> Cache:
        """Return a new cache with these objects."""
        cache = Cache()
        for kind, objects in self.objects.items():
            for each in objects:
                cache.set_object(added(kind, each))
        for node in self.nodes:
            cache.set_node(node)
        for pod in self.pods:
            cache.set_pod(pod)
        for pod, node_name in self.nominated:
            cache.nominator.nominate(pod, node_name)
        cache.snapshot.request_mix.publish(self.request_shares)
        return cache


def content_of(snapshot: Snapshot, without: str = "") -> ClusterContent:
    """Return the objects of a snapshot, except the pod whose uid is `without`.

    This takes a few milliseconds in a large cluster, so it may run between two cycles. `build` takes much longer.
    """
    nodes = tuple(snapshot.node(position) for position in range(snapshot.size))
    placed = (
        pod if pod.node_name == node.name else replace(pod, node_name=node.name)
        for position, node in enumerate(nodes)
        for pod in snapshot.pods_on(position)
    )
    nominated = ((pod, name) for name in snapshot.nominated_nodes for pod in snapshot.nominated(name))
    namespaces = tuple(Namespace(name=name, labels=labels) for name, labels in snapshot.namespaces.items())
    objects = {kind: tuple(of_kind.values()) for kind, of_kind in snapshot.all_objects.items()}
    return ClusterContent(
        nodes=nodes,
        pods=tuple(pod for pod in placed if pod.uid != without),
        nominated=tuple((pod, name) for pod, name in nominated if pod.uid != without),
        objects={NAMESPACE: namespaces, **objects},
        request_shares=snapshot.request_mix.shares,
    )
