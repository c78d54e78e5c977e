"""Gpu: keeps pods that request no GPU off GPU nodes, and packs or spreads the pods that request GPUs.

The filter of this plugin rejects GPU nodes for pods that request no GPU. NodeResourcesFit rejects nodes without enough
free GPUs; this plugin only gives them the score 0. The free GPUs are the allocatable GPUs minus the requested GPUs.
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
"""The node label in which NVIDIA's GPU feature discovery writes the GPU model."""
REASON = "node(s) had GPUs that the pod does not ask for"
FILTER_FIELD = "gpu.podsWithoutGpu"

SCORE_AVOIDED = 1 * TABLE_UNIT
"""The score of GPU nodes for a pod that requests no GPU, with `podsWithoutGpu: Avoid`."""
SCORE_NEUTRAL = 5 * TABLE_UNIT
"""The score of nodes without GPUs for a pod that requests no GPU. Also the lowest score in `_score_use`."""


@dataclass(frozen=True, slots=True)
class _GpuNodes:
    """The GPUs of the cluster's nodes."""

    has_gpus: BoolArray
    model_scores: IntArray
    """For each node, the score of its GPU model in the policy's table, 0..MAX_NODE_SCORE; -1 if the table has no row
    for the model."""


class Gpu(PolicyPlugin, FilterPlugin[None], ScorePlugin[None], GpuSection):
    """Filters and scores nodes by their GPUs; its arguments are the policy's section `gpu`."""

    policy_section = "gpu"
    default_weight = 5
    has_static_filter = True
    has_local_score = True
    interests = frozenset({"Node"})

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether the policy forbids pods without GPU requests on GPU nodes."""
        return spec.gpu is not None and spec.gpu.pods_without_gpu == "Forbid"

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Reject GPU nodes for pods that request no GPU, if `podsWithoutGpu` is Forbid."""
        del state
        if self.pods_without_gpu == "Forbid" and self._request(pod) is None:
            passed = ~nodes.gather(self._gpu_nodes(pod, nodes).has_gpus)
        else:
            passed = np.ones(nodes.size, dtype=np.bool_)
        unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return FilterResult(passed, lambda: (Rejection(~passed, REASON, unresolvable, FILTER_FIELD),))

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score nodes by GPU model and free GPUs. If the pod requests no GPU, score nodes by whether they have GPUs."""
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
        """Return whether a node was added or its resources changed."""
        del pod
        old, new = event.old, event.new
        return new is not None and (old is None or old.allocatable != new.allocatable)

    def _request(self, pod: Pod) -> tuple[str, int] | None:
        """Return the first GPU resource that the pod requests, and the amount; None if the pod requests no GPU."""
        requests = ((resource, pod.shape.requests.get(resource)) for resource in self.resources)
        return next((request for request in requests if request[1]), None)

    def _gpu_nodes(self, pod: Pod, nodes: Snapshot) -> _GpuNodes:
        cluster = nodes.cluster
        return cluster.memo(self, pod.shape, cluster.generations.nodes, lambda: self._find_gpu_nodes(cluster))

    def _find_gpu_nodes(self, cluster: Snapshot) -> _GpuNodes:
        has_gpus = np.zeros(cluster.size, dtype=np.bool_)
        for resource in self.resources:
            has_gpus |= cluster.allocatable(resource) > 0
        column = cluster.label(PRODUCT_LABEL)
        rows = [self.models[name] * TABLE_UNIT if name in self.models else -1 for name in column.values]
        # The last entry is for nodes without the label, whose id is ABSENT (-1).
        return _GpuNodes(has_gpus, np.array([*rows, -1], dtype=np.int64)[column.ids])

    def _score_use(self, capacity: IntArray, used: IntArray) -> IntArray:
        """Score nodes with enough free GPUs by their use of GPUs, from SCORE_NEUTRAL to MAX_NODE_SCORE."""
        counted = {"Pack": used, "Spread": capacity - used}.get(self.pods_with_gpu, np.zeros_like(used))
        return SCORE_NEUTRAL + (MAX_NODE_SCORE - SCORE_NEUTRAL) * counted // np.maximum(capacity, 1)
