"""NodePorts: a host port is free or the pod does not fit.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, SUCCESS

if TYPE_CHECKING:
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import HostPort, Pod, PodShape

REASON = "node(s) didn't have free ports for the requested pod ports"
ANY_IP = "0.0.0.0"  # noqa: S104 - nothing is bound; it is how the API says "all addresses"


class NodePorts(PreFilterPlugin[None], FilterPlugin[None]):
    """Passes nodes on which all host ports of the pod are free."""

    without_pre_filter = 'reading "PreFilterNodePorts" from cycleState: not found'
    interests = frozenset({"Node", "Pod"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip pods without host ports."""
        return not shape.host_ports

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Skip pods without host ports."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else SUCCESS)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes where nobody uses one of the ports."""
        del state
        taken = np.zeros(nodes.size, dtype=np.bool_)
        for port in pod.shape.host_ports:
            taken |= nodes.port_in_use(port)
        return FilterResult(~taken, lambda: (Rejection(taken, REASON),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node is added, or when a pod leaves that used one of its ports."""
        if event.kind == "Node":
            return event.action is Action.ADD
        gone = event.old
        if event.action is not Action.DELETE or not (gone.node_name or gone.nominated_node_name):
            return False
        return any(_conflict(wanted, used) for wanted, used in product(pod.shape.host_ports, gone.shape.host_ports))


def _conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two pods on one node cannot both have these ports."""
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.ip == other.ip or ANY_IP in {one.ip, other.ip}
