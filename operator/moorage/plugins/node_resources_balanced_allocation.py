"""NodeResourcesBalancedAllocation: nodes gain where the pod makes their resources' use more even.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. Floats are computed in upstream's order
of operations, so that scores agree to the integer.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import field_validator

from moorage.framework.interface import MAX_NODE_SCORE, PreScoreResult, ScorePlugin
from moorage.framework.status import SKIP
from moorage.plugins.node_resources_usage import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    ScoredResource,
    scored_resources,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.framework.arrays import IntArray
    from moorage.framework.snapshot import Snapshot
    from moorage.model.pod import Pod
    from moorage.plugins.node_resources_usage import Usage

FloatArray = npt.NDArray[np.float64]
Scored = tuple[ScoredResource, ...]

HALF_SCORE = MAX_NODE_SCORE // 2
PAIR = 2
"""The deviation of two fractions is half their distance; that of fewer is 0."""


class NodeResourcesBalancedAllocation(ScorePlugin[Scored]):
    """Compares how evenly a node's resources are used with the pod and without it: 75 is no change, 100 the best."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    """The resources whose use should be even; cpu and memory where none is given. All weigh 1."""

    @field_validator("resources")
    @classmethod
    def _check_resources(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        names = [resource.name for resource in resources]
        if len(names) != len(set(names)):
            raise ValueError("a resource is listed twice")
        if any(resource.weight != 1 for resource in resources):
            raise ValueError("weight must be 1")
        return resources or DEFAULT_RESOURCES

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[Scored]:
        """Skip pods that request none of the resources."""
        cluster, requests = nodes.cluster, pod.shape.requests
        if not any(requests.get(resource.name) for resource in self.resources):
            return PreScoreResult(SKIP)
        generation = cluster.generations.nodes
        return PreScoreResult(
            state=cluster.memo(self, pod.shape, generation, lambda: scored_resources(self.resources, requests, cluster))
        )

    def score(self, state: Scored, pod: Pod, nodes: Snapshot) -> IntArray:
        """Map the change of evenness, -50 to 50, to 50..100."""
        del pod
        usages = [usage_of(resource, nodes.requested(resource.name), nodes) for resource in state]
        gain = _evenness([_fraction(usage.used, usage) for usage in usages], usages, nodes.size)
        gain -= _evenness([_fraction(usage.before, usage) for usage in usages], usages, nodes.size)
        # Never negative before it is halved, as evenness lies in 50..100.
        return HALF_SCORE + (HALF_SCORE + gain) // 2


def _fraction(used: IntArray, usage: Usage) -> FloatArray:
    """Return which share of the resource is in use, at most 1."""
    fraction: FloatArray = used / usage.divisor
    return np.minimum(fraction, 1.0, out=fraction)


def _evenness(fractions: Sequence[FloatArray], usages: Sequence[Usage], size: int) -> IntArray:
    """Return 100 where all fractions are the same, less the more they deviate; never below 50."""
    if all(usage.present is None for usage in usages):
        deviation = _deviation(fractions, size)
    else:
        deviation = _deviation_where_present(fractions, usages, size)
    return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)


def _deviation(fractions: Sequence[FloatArray], size: int) -> FloatArray:
    """Return the standard deviation of the fractions of nodes that have all resources."""
    count = len(fractions)
    if count < PAIR:
        return np.zeros(size)
    if count == PAIR:
        return np.abs(fractions[0] - fractions[1]) / PAIR
    mean = sum(fractions) / count
    return np.sqrt(sum((fraction - mean) * (fraction - mean) for fraction in fractions) / count)


def _deviation_where_present(fractions: Sequence[FloatArray], usages: Sequence[Usage], size: int) -> FloatArray:
    """Return the same where nodes lack some of the resources: those do not count there.

    Adding 0 for a resource that does not count changes no sum, not even in its last bit.
    """
    present = [np.ones(size, dtype=np.bool_) if usage.present is None else usage.present for usage in usages]
    count = np.sum(present, axis=0)
    divisor = np.maximum(count, 1)
    mean = sum(fraction * has for fraction, has in zip(fractions, present, strict=True)) / divisor
    squares = sum(has * (fraction - mean) * (fraction - mean) for fraction, has in zip(fractions, present, strict=True))
    highest = reduce(np.maximum, (np.where(has, fraction, 0) for fraction, has in zip(fractions, present, strict=True)))
    lowest = reduce(np.minimum, (np.where(has, fraction, 1) for fraction, has in zip(fractions, present, strict=True)))
    return np.select([count > PAIR, count == PAIR], [np.sqrt(squares / divisor), (highest - lowest) / PAIR], 0.0)
