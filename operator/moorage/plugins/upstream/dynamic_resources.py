"""DynamicResources: rejects pods that use resource claims.

moorage does not allocate devices (DRA) yet. So this plugin rejects a pod with resource claims and gives this reason.
Otherwise the kubelet would reject the pod later. For pods without claims, the plugin does the same as kube-scheduler.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import AfterValidator

from moorage.api.duration import GoDuration, parse_duration
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


def _at_least_a_second(text: str) -> str:
    if parse_duration(text) < 1:
        raise ValueError("must be at least 1 second")
    return text


class DynamicResources(PreFilterPlugin[None], FilterPlugin[None], PostFilterPlugin, ScorePlugin[None]):
    """Rejects pods with `spec.resourceClaims`; scores all nodes 0."""

    default_weight = 2
    has_static_score = True
    without_pre_filter = "not found"
    without_pre_score = "not found"
    interests = frozenset({"Pod"})

    filter_timeout: GoDuration = "10s"
    """The longest time for a search for devices. Accepted for compatibility; has no effect."""
    binding_timeout: Annotated[GoDuration, AfterValidator(_at_least_a_second)] = "10m"
    """The longest wait for devices before a bind. Accepted for compatibility; has no effect."""

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether pods of the shape have no claims."""
        return not shape.resource_claims

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        """Return SKIP for pods without claims, and reject other pods."""
        del snapshot
        return PreFilterResult(SKIP if self.skips_filter(pod.shape) else unresolvable(REASON))

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Pass all nodes, because PreFilter has already rejected pods with claims."""
        del state, pod
        return FilterResult(np.ones(nodes.size, dtype=np.bool_), tuple)

    def post_filter(self, state: None, pod: Pod) -> Status:
        """Return a rejection, because there are no claims to deallocate."""
        del state, pod
        return unschedulable(NOTHING_TO_DEALLOCATE)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score 0 for all nodes, like kube-scheduler for pods without claims."""
        del state, pod
        return np.zeros(nodes.size, dtype=np.int64)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether the pod's new version has no claims."""
        return event.new is not None and event.new.uid == pod.uid and not event.new.shape.resource_claims
