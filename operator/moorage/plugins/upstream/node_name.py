"""NodeName: if a pod names a node in its spec, runs the pod only on that node.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.cluster_events import Action
from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection
from moorage.framework.status import Code

if TYPE_CHECKING:
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod

REASON = "node(s) didn't match the requested node name"


class NodeName(FilterPlugin[None]):
    """If the pod's `spec.nodeName` is set, rejects all other nodes."""

    interests = frozenset({"Node"})

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass the node that the pod names, or all nodes if the pod names no node."""
        del state
        passed = np.full(nodes.size, not pod.required_node_name, dtype=np.bool_)
        position = nodes.position(pod.required_node_name) if pod.required_node_name else None
        if position is not None:
            passed[position] = True
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node was added."""
        del pod
        return event.action is Action.ADD
