"""ServerlessNodes: rejects Fargate and virtual-kubelet nodes.

A Fargate node runs the one pod that its provider placed there, and a virtual-kubelet node represents a remote service.
A pod that another scheduler binds to such a node never runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.cluster.node_selectors import label_equals
from moorage.framework.extension_points import FilterPlugin, FilterResult, Rejection
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.status import Code

if TYPE_CHECKING:
    from moorage.api.policy_spec import SchedulingPolicySpec
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.node import Node
    from moorage.model.pods.pod import Pod

REASON = "node(s) were serverless"
FILTER_FIELD = "filters.serverlessNodes"

SERVERLESS_LABELS = {"eks.amazonaws.com/compute-type": "fargate", "type": "virtual-kubelet"}
"""The labels and values of serverless nodes."""
VIRTUAL_KUBELET_TAINT = "virtual-kubelet.io/provider"
"""The taint that a virtual kubelet puts on its node."""


class ServerlessNodes(PolicyPlugin, FilterPlugin[None]):
    """Keeps pods off serverless nodes."""

    has_static_filter = True
    interests = frozenset({"Node"})

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether the policy excludes serverless nodes, which is the default."""
        return spec.filters.serverless_nodes == "Exclude"

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes that are not serverless."""
        del state
        cluster = nodes.cluster
        passed = nodes.gather(
            cluster.memo(self, pod.shape, cluster.generations.nodes, lambda: ~_serverless_nodes(cluster))
        )
        unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, unresolvable, FILTER_FIELD),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the added or changed node is not serverless."""
        del pod
        return event.new is not None and not _is_serverless(event.new)


def _serverless_nodes(cluster: Snapshot) -> BoolArray:
    taints = cluster.taints
    tainted = np.array([any(taint.key == VIRTUAL_KUBELET_TAINT for taint in each) for each in taints.classes], np.bool_)
    found: BoolArray = tainted[taints.ids]
    for key, value in SERVERLESS_LABELS.items():
        found |= label_equals(key, value, cluster)
    return found


def _is_serverless(node: Node) -> bool:
    return any(node.labels.get(key) == value for key, value in SERVERLESS_LABELS.items()) or any(
        taint.key == VIRTUAL_KUBELET_TAINT for taint in node.taints
    )
