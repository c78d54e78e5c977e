"""DynamicResources: pods that use resource claims.

moorage allocates no devices (DRA) yet. A pod that needs a claim is turned away with a reason that says so, rather than
put on a node where the kubelet would refuse it. Pods without claims take the same way as in kube-scheduler.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
    PostFilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
)
from moorage.framework.status import SKIP, Status, unresolvable, unschedulable

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

REASON = "pod uses resource claims, which moorage does not allocate"
NOTHING_TO_DEALLOCATE = "no new claims to deallocate"


class DynamicResources(PreFilterPlugin[None], FilterPlugin[None], PostFilterPlugin, ScorePlugin[None]):
    """Turns away pods with `spec.resourceClaims`; scores nothing."""

    default_weight = 2
    has_static_score = True
    without_pre_filter = "not found"
    without_pre_score = "not found"
    interests = frozenset({"Pod"})

    def skips_filter(self, shape: PodShape) -> bool:
        """Skip pods without claims."""
        return not shape.resource_claims

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Skip pods without claims, and turn the others away."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else unresolvable(REASON))

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass every node: only pods without claims come here."""
        del state, pod
        return FilterResult(np.ones(nodes.size, dtype=np.bool_), tuple)

    def post_filter(self, state: None, pod: Pod) -> Status:
        """Say that nothing is gained by taking claims back."""
        del state, pod
        return unschedulable(NOTHING_TO_DEALLOCATE)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score 0 everywhere, as kube-scheduler does for pods without claims."""
        del state, pod
        return np.zeros(nodes.size, dtype=np.int64)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue a pod only when it is replaced by one without claims."""
        return event.new is not None and event.new.uid == pod.uid and not event.new.shape.resource_claims
