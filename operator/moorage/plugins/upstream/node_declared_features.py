"""NodeDeclaredFeatures: runs pods only on nodes that declare the kubelet features that the pods require.

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
    """Filters nodes by their declared features: a node must declare all features that the pod's spec requires."""

    has_static_filter = True
    without_pre_filter = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
    interests = frozenset({"Node", "Pod"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape require no feature."""
        return not shape.required_features

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Return SKIP for pods that require no feature."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else SUCCESS)

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass nodes whose declared features include all required features."""
        del state
        cluster = nodes.cluster

        def declaring() -> BoolArray:
            features = cluster.declared_features
            matches = [declared >= pod.shape.required_features for declared in features.classes]
            return np.array(matches, dtype=np.bool_)[features.ids]

        passed = nodes.gather(cluster.memo(self, pod.shape, cluster.generations.nodes, declaring))
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node's declared features or the pod's required features changed."""
        old, new = event.old, event.new
        if new is None:
            return False
        if event.kind == "Pod":
            return bool(new.uid == pod.uid) and (
                old is None or old.shape.required_features != new.shape.required_features
            )
        return old is None or old.declared_features != new.declared_features
