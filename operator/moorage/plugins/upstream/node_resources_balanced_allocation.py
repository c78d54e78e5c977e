"""NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of resources more even.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. The order of float operations is
upstream's, so that the integer scores are the same.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import field_validator

from moorage.api.base import raise_errors, rule_error
from moorage.framework.extension_points import MAX_NODE_SCORE, PreScoreResult, ScorePlugin
from moorage.framework.status import SKIP, SUCCESS
from moorage.plugins.shared.node_resources_usage import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    ScoredResources,
    scored_resources,
)

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod, PodShape
    from moorage.plugins.shared.node_resources_usage import ResourceUse

FloatArray = npt.NDArray[np.float64]

HALF_SCORE = MAX_NODE_SCORE // 2
PAIR = 2
"""For two fractions, the standard deviation is half their difference. For one fraction, the deviation is 0."""


class NodeResourcesBalancedAllocation(ScorePlugin[None]):
    """Scores nodes by how much the pod evens out the use of their resources. 75 means no change, 100 is the best."""

    has_local_score = True

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    """The resources to balance; by default cpu and memory. All weights must be 1."""

    @field_validator("resources")
    @classmethod
    def _check_resources(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        names = [resource.name for resource in resources]
        twice = [index for index, name in enumerate(names) if name in names[:index]]
        weighted = [index for index, resource in enumerate(resources) if resource.weight != 1]
        errors = [rule_error("is listed twice", index, "name") for index in twice]
        raise_errors(cls, errors + [rule_error("must be 1", index, "weight") for index in weighted])
        return resources or DEFAULT_RESOURCES

    def skips_score(self, shape: PodShape) -> bool:
        """Return whether pods of the shape request none of the resources."""
        return not any(shape.requests.get(resource.name) for resource in self.resources)

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[None]:
        """Return SKIP for pods that request none of the resources."""
        del nodes
        return PreScoreResult(SKIP if self.skips_score(pod.shape) else SUCCESS)

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return 75 plus half the change of the balance, which is -50 to 50; 0 if PreScore would skip the pod."""
        del state
        if self.skips_score(pod.shape):
            return np.zeros(nodes.size, dtype=np.int64)
        resources = self._resources(pod.shape, nodes.cluster)
        return _score(resources.use([nodes.requested(name) for name in resources.names], nodes))

    def _resources(self, shape: PodShape, cluster: Snapshot) -> ScoredResources:
        specs, generation = self.resources, cluster.generations.nodes
        return cluster.memo(self, shape, generation, lambda: scored_resources(specs, shape.requests, cluster))


def _score(use: ResourceUse) -> IntArray:
    fractions = np.minimum(np.array([use.before, use.used]) / use.capacity, 1.0)
    deviation = _deviation(fractions) if use.present is None else _deviation_where_present(fractions, use.present)
    without_pod, with_pod = ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)
    # The dividend is never negative, because both scores are in 50..100.
    scores: IntArray = HALF_SCORE + (HALF_SCORE + with_pod - without_pod) // 2
    return scores


def _deviation(fractions: FloatArray) -> FloatArray:
    """Return the standard deviation over the resources (axis 1). All nodes must have all resources."""
    count = fractions.shape[1]
    if count < PAIR:
        return np.zeros((len(fractions), fractions.shape[2]))
    if count == PAIR:
        difference: FloatArray = np.abs(fractions[:, 0] - fractions[:, 1])
        return difference / PAIR
    distances = fractions - _sum(fractions)[:, np.newaxis] / count
    deviation: FloatArray = np.sqrt(_sum(distances * distances) / count)
    return deviation


def _deviation_where_present(fractions: FloatArray, present: BoolArray) -> FloatArray:
    """Return the standard deviation over the resources that each node has.

    If a node lacks a resource, the resource adds 0 to the sums, so it does not change the result.
    """
    count = present.sum(axis=0)
    divisor = np.maximum(count, 1)
    distances = (fractions - (_sum(fractions * present) / divisor)[:, np.newaxis]) * present
    highest = np.where(present, fractions, 0).max(axis=1)
    lowest = np.where(present, fractions, 1).min(axis=1)
    return np.select(
        [count > PAIR, count == PAIR], [np.sqrt(_sum(distances * distances) / divisor), (highest - lowest) / PAIR], 0.0
    )


def _sum(fractions: FloatArray) -> FloatArray:
    """Sum over the resources (axis 1) in their order, which NumPy's own sum does not guarantee."""
    return reduce(np.add, fractions.swapaxes(0, 1))
