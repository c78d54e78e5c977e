"""NodeUnschedulable: rejects cordoned nodes for pods that do not tolerate the taint of cordoned nodes.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.tolerations import tolerated
from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection
from moorage.framework.status import Code
from moorage.model.node import Taint

if TYPE_CHECKING:
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint that a pod must tolerate to run on a cordoned node, even if the node does not have the taint yet."""


class NodeUnschedulable(FilterPlugin[None]):
    """Rejects nodes with `spec.unschedulable`."""

    has_static_filter = True
    interests = frozenset({"Node", "Pod"})

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that are not cordoned, or all nodes if the pod tolerates cordoned nodes."""
        del state
        tolerant = _tolerates_cordon(pod.shape)
        passed = np.ones(nodes.size, dtype=np.bool_) if tolerant else ~nodes.unschedulable
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node was added or uncordoned, or the pod's new version tolerates cordoned nodes."""
        old, new = event.old, event.new
        if new is None:
            return False
        if event.kind == "Pod":
            return bool(new.uid == pod.uid) and _tolerates_cordon(new.shape)
        return not new.unschedulable and (old is None or old.unschedulable)


def _tolerates_cordon(shape: PodShape) -> bool:
    return tolerated(shape.tolerations, UNSCHEDULABLE_TAINT)
