"""NodeDeclaredFeatures: a pod that needs a kubelet's feature runs where a node declares it.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.extension_points import FilterPlugin, FilterResult, PreFilterPlugin, PreFilterResult, Rejection
from moorage.framework.status import SKIP, SUCCESS, Code

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(PreFilterPlugin[None], FilterPlugin[None]):
    """Passes nodes that declare every feature that the pod's spec needs."""

    has_static_filter = True
    without_pre_filter = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
    interests = frozenset({"Node", "Pod"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip pods that need no feature."""
        return not shape.required_features

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Skip pods that need no feature."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else SUCCESS)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose declared features include the needed ones."""
        del state
        cluster = nodes.cluster

        def declaring() -> BoolArray:
            features = cluster.declared_features
            answers = [declared >= pod.shape.required_features for declared in features.classes]
            return np.array(answers, dtype=np.bool_)[features.ids]

        passed = nodes.gather(cluster.memo(self, pod.shape, cluster.generations.nodes, declaring))
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node's declared features change, or when the pod comes to need others."""
        old, new = event.old, event.new
        if new is None:
            return False
        if event.kind == "Pod":
            return bool(new.uid == pod.uid) and (
                old is None or old.shape.required_features != new.shape.required_features
            )
        return old is None or old.declared_features != new.declared_features
