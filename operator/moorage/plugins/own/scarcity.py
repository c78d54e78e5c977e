"""Scarcity: keeps the free amounts of scarce resources usable for the pods that come next.

For each resource of the policy, the plugin compares the fragmentation of a node before and after the pod
(`moorage.plugins.shared.fragmentation`). The node whose fragmentation grows least is the best. Of nodes with equal
growth, the node with the least free amount is the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.api.policy_scores import ScarcitySection
from moorage.cluster.kept_arrays import FEW_NODES, KeptArrays
from moorage.framework.extension_points import MAX_NODE_SCORE, ScorePlugin
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.plugins.shared.fragmentation import Fragmentation

if TYPE_CHECKING:
    from moorage.api.base import ApiModel
    from moorage.api.policy_spec import SchedulingPolicySpec
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod, PodShape

GROWTH_UNIT = 1 << 30
"""The scale of growths: a growth by the largest allocatable amount of a node becomes this number."""
FREE_UNIT = 1 << 12
"""The scale of free amounts: the largest allocatable amount of a node becomes this number."""


class Scarcity(PolicyPlugin, ScorePlugin[None], ScarcitySection):
    """Scores nodes by the growth of their fragmentation; its arguments are the policy's section `scarcity`."""

    policy_section = "scarcity"
    default_weight = 5
    reads_request_mix = True

    @classmethod
    def section_of(cls, spec: SchedulingPolicySpec) -> ApiModel | None:
        """Return the section. If `gpu.podsWithGpu` is LeastFragmentation, add the GPU resources to the section."""
        named = spec.scarcity.resources if spec.scarcity else ()
        gpus = spec.gpu.resources if spec.gpu and spec.gpu.pods_with_gpu == "LeastFragmentation" else ()
        resources = tuple(dict.fromkeys((*named, *gpus)))
        return ScarcitySection.model_construct(resources=resources) if resources else None

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return raw scores, which fall with the growth of the fragmentation, and a little with the free amounts."""
        del state
        if nodes.size <= FEW_NODES:
            return self._raw(pod.shape, nodes)
        cluster = nodes.cluster
        generation = (cluster.generations.nodes, cluster.request_mix.generation)
        kept = cluster.memo((self, "growth"), pod.shape, generation, KeptArrays)
        (raw,) = kept.of(nodes, lambda view: (self._raw(pod.shape, view),))
        return nodes.gather(raw)

    def normalize(self, state: None, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Scale the scores so that only the best nodes have MAX_NODE_SCORE, and the worst nodes have 0."""
        del state, pod, nodes
        best, worst = int(scores.max()), int(scores.min())
        if best == worst:
            return np.full(scores.size, MAX_NODE_SCORE, np.int64)
        below = (best - scores) / (best - worst) * (MAX_NODE_SCORE - 1)
        return np.where(scores == best, MAX_NODE_SCORE, (MAX_NODE_SCORE - 1) - below.astype(np.int64))

    def _raw(self, shape: PodShape, nodes: Snapshot) -> IntArray:
        growth = np.zeros(nodes.size)
        free_share = np.zeros(nodes.size)
        for resource in self.resources:
            largest = int(nodes.cluster.allocatable(resource).max(initial=0))
            if not largest:
                continue
            measure = self._fragmentation(resource, nodes.cluster)
            free = {name: nodes.allocatable(name) - nodes.requested(name) for name in measure.resources}
            after = {name: amounts - shape.requests.get(name) for name, amounts in free.items()}
            growth += (measure.of(nodes, after) - measure.of(nodes, free)) / largest
            free_share += free[resource] / largest
        unit = FREE_UNIT // len(self.resources)
        return -(np.rint(growth * GROWTH_UNIT).astype(np.int64) * FREE_UNIT + (free_share * unit).astype(np.int64))

    def _fragmentation(self, resource: str, cluster: Snapshot) -> Fragmentation:
        generation = (cluster.generations.nodes, cluster.request_mix.generation)
        shares = cluster.request_mix.shares
        return cluster.memo((self, resource), None, generation, lambda: Fragmentation(resource, shares, cluster))
