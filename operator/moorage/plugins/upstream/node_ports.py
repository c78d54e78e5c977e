"""NodePorts: rejects nodes on which a host port of the pod is in use.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.columns.port_columns import conflicts
from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, SUCCESS

if TYPE_CHECKING:
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(PreFilterPlugin[None], FilterPlugin[None]):
    """Filters nodes by free host ports."""

    without_pre_filter = 'reading "PreFilterNodePorts" from cycleState: not found'
    interests = frozenset({"Node", "Pod"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no host ports."""
        return not shape.host_ports

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Return SKIP for pods without host ports."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else SUCCESS)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes on which no other pod uses one of the pod's host ports."""
        del state
        taken = np.zeros(nodes.size, dtype=np.bool_)
        for port in pod.shape.host_ports:
            taken |= nodes.port_in_use(port)
        return FilterResult(~taken, lambda: (Rejection(taken, REASON),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node was added, or a pod that used one of the pod's host ports was deleted."""
        if event.kind == "Node":
            return event.action is Action.ADD
        other = event.old
        if event.action is not Action.DELETE or not (other.node_name or other.nominated_node_name):
            return False
        return any(conflicts(wanted, used) for wanted, used in product(pod.shape.host_ports, other.shape.host_ports))
