"""Gpu: nodes with GPUs are for pods that ask for them, and these fill or spread over them.

What counts as free is what is allocatable less what is requested. A score of 0 keeps no pod off a node; that is what
NodeResourcesFit is for, and the filter here for pods that ask for no GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moorage.api.policy_scores import GpuSection
from moorage.framework.extension_points import MAX_NODE_SCORE, FilterPlugin, FilterResult, Rejection, ScorePlugin
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.status import Code
from moorage.plugins.shared.score_tables import TABLE_UNIT

if TYPE_CHECKING:
    from moorage.api.policy_spec import SchedulingPolicySpec
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod

PRODUCT_LABEL = "nvidia.com/gpu.product"
"""The label by which NVIDIA's feature discovery names a node's GPU model."""
REASON = "node(s) had GPUs that the pod does not ask for"

SCORE_AVOIDED = 1 * TABLE_UNIT
"""A pod without GPU request on a node with GPUs."""
SCORE_NEUTRAL = 5 * TABLE_UNIT
"""The same pod elsewhere, and the least for a pod that asks on a node that can serve it."""


@dataclass(frozen=True, slots=True)
class _GpuNodes:
    """What the cluster's nodes have."""

    has_gpus: BoolArray
    model_scores: IntArray
    """What the policy's table gives for each node's GPU model, 0..MAX_NODE_SCORE; -1 where it has no row."""


class Gpu(PolicyPlugin, FilterPlugin[None], ScorePlugin[None], GpuSection):
    """Filters and scores by GPUs; its arguments are the policy's section `gpu`."""

    policy_section = "gpu"
    default_weight = 5
    has_static_filter = True
    has_local_score = True
    interests = frozenset({"Node"})

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether pods without GPU requests are kept off GPU nodes."""
        return spec.gpu is not None and spec.gpu.pods_without_gpu == "Forbid"

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Keep pods that ask for no GPU off nodes that have some, if `podsWithoutGpu` is Forbid."""
        del state
        if self.pods_without_gpu == "Forbid" and self._request(pod) is None:
            passed = ~nodes.gather(self._gpu_nodes(pod, nodes).has_gpus)
        else:
            passed = np.ones(nodes.size, dtype=np.bool_)
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score pods that ask for a GPU by model and use, others by whether a node has GPUs at all."""
        del state
        gpu_nodes = self._gpu_nodes(pod, nodes)
        request = self._request(pod)
        if request is None:
            on_gpu_nodes = SCORE_AVOIDED if self.pods_without_gpu == "Avoid" else SCORE_NEUTRAL
            return np.where(nodes.gather(gpu_nodes.has_gpus), on_gpu_nodes, SCORE_NEUTRAL)
        resource, amount = request
        capacity, used = nodes.allocatable(resource), nodes.requested(resource) + amount
        model_scores = nodes.gather(gpu_nodes.model_scores)
        scores = np.where(model_scores < 0, self._score_use(capacity, used), model_scores)
        return np.where(used <= capacity, scores, 0)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node is added or its resources change."""
        del pod
        old, new = event.old, event.new
        return new is not None and (old is None or old.allocatable != new.allocatable)

    def _request(self, pod: Pod) -> tuple[str, int] | None:
        """Return the first of the resources that the pod asks for, and how many; None where it asks for none."""
        requests = ((resource, pod.shape.requests.get(resource)) for resource in self.resources)
        return next((request for request in requests if request[1]), None)

    def _gpu_nodes(self, pod: Pod, nodes: Snapshot) -> _GpuNodes:
        cluster = nodes.cluster
        return cluster.memo(self, pod.shape, cluster.generations.nodes, lambda: self._look_at(cluster))

    def _look_at(self, cluster: Snapshot) -> _GpuNodes:
        has_gpus = np.zeros(cluster.size, dtype=np.bool_)
        for resource in self.resources:
            has_gpus |= cluster.allocatable(resource) > 0
        column = cluster.label(PRODUCT_LABEL)
        rows = [self.models[name] * TABLE_UNIT if name in self.models else -1 for name in column.values]
        # The last entry is for nodes without the label: their id, ABSENT, indexes from the end.
        return _GpuNodes(has_gpus, np.array([*rows, -1], dtype=np.int64)[column.ids])

    def _score_use(self, capacity: IntArray, used: IntArray) -> IntArray:
        """Score nodes that can serve the pod, between neutral and the maximum."""
        counted = {"Pack": used, "Spread": capacity - used, "Ignore": np.zeros_like(used)}[self.pods_with_gpu]
        return SCORE_NEUTRAL + (MAX_NODE_SCORE - SCORE_NEUTRAL) * counted // np.maximum(capacity, 1)
