"""NodeName: a pod that names a node runs there or nowhere.

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
    """Keeps a pod with `spec.nodeName` to that node."""

    interests = frozenset({"Node"})

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass every node, or only the one that the pod names."""
        del state
        passed = np.full(nodes.size, not pod.required_node_name, dtype=np.bool_)
        position = nodes.position(pod.required_node_name) if pod.required_node_name else None
        if position is not None:
            passed[position] = True
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node is added."""
        del pod
        return event.action is Action.ADD
