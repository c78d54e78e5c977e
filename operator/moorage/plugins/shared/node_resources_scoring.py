"""The scoring strategies of NodeResourcesFit and their arguments.

All arithmetic is exact, in int64, like upstream's.

Upstream: pkg/scheduler/framework/plugins/noderesources/ (resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go), plugins/helper/shape_score.go; for validation:
pkg/scheduler/apis/config/validation/validation_pluginargs.go.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from moorage.api.base import ApiModel, ListOf, Rule, Score
from moorage.api.policy_scores import UtilizationShapePoint, falling_points
from moorage.framework.extension_points import MAX_NODE_SCORE
from moorage.plugins.shared.node_resources_usage import DEFAULT_RESOURCES, ResourceSpec

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.plugins.shared.node_resources_usage import ResourceUse

MAX_UTILIZATION = 100
"""Utilization is a percentage."""
MAX_SHAPE_SCORE = 10
"""The highest score in a shape; the lowest is 0 (upstream MaxCustomPriorityScore)."""


class ShapePoint(UtilizationShapePoint):
    """A point in a plugin's arguments. A missing number is 0, as in kube-scheduler; policies must set both numbers."""

    utilization: Annotated[int, Field(ge=0, le=MAX_UTILIZATION)] = 0
    """The percentage of the resource that pods would request in total if the pod were placed on the node."""
    score: Score = 0
    """The score at this utilization, 0 to 10. The score between two points is interpolated."""


class RequestedToCapacityRatioParam(ApiModel):
    """A function from utilization to score. The function is linear between its points and constant outside them."""

    rules = (
        Rule(
            holds=lambda param: not falling_points(param.shape),
            message="utilization values must be sorted in increasing order",
            locate=lambda param: falling_points(param.shape),
        ),
    )

    shape: Annotated[tuple[ShapePoint, ...], ListOf, Field(min_length=1)]
    """The points, sorted by increasing utilization."""

    @cached_property
    def table(self) -> IntArray:
        """The score, 0 to MAX_NODE_SCORE, for each whole percentage of utilization."""
        return np.array([self._value(percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)

    def _value(self, percent: int) -> int:
        scale = MAX_NODE_SCORE // MAX_SHAPE_SCORE
        first, last = self.shape[0], self.shape[-1]
        if percent <= first.utilization:
            return first.score * scale
        for left, right in pairwise(self.shape):
            if percent <= right.utilization:
                rise = (right.score - left.score) * scale * (percent - left.utilization)
                return left.score * scale + truncated_quotient(rise, right.utilization - left.utilization)
        return last.score * scale


def truncated_quotient(dividend: int, divisor: int) -> int:
    """Divide by a positive divisor and round toward zero, like Go."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


class ScoringStrategy(ApiModel):
    """The scoring strategy: whether emptier or fuller nodes score higher."""

    rules = (
        Rule(
            holds=lambda strategy: strategy.is_by_shape or strategy.requested_to_capacity_ratio is None,
            message="only allowed when type is RequestedToCapacityRatio",
            field="requestedToCapacityRatio",
        ),
        Rule(
            holds=lambda strategy: not strategy.is_by_shape or strategy.requested_to_capacity_ratio is not None,
            message="must be specified when type is RequestedToCapacityRatio",
            field="requestedToCapacityRatio",
        ),
    )

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    """LeastAllocated prefers emptier nodes, MostAllocated prefers fuller nodes, and RequestedToCapacityRatio scores by
    `shape`."""
    resources: Annotated[tuple[ResourceSpec, ...], ListOf] = DEFAULT_RESOURCES
    """The resources that count; by default cpu and memory with equal weights."""
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None
    """The shape; required for RequestedToCapacityRatio, not allowed for other types."""

    @field_validator("resources")
    @classmethod
    def _default_resources(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        return resources or DEFAULT_RESOURCES

    @property
    def is_by_shape(self) -> bool:
        """Whether the strategy needs a shape."""
        return self.type == "RequestedToCapacityRatio"

    def score(self, use: ResourceUse) -> IntArray:
        """Return the weighted mean over the resources that each node has; 0 for nodes that have none of them."""
        ratio = self.requested_to_capacity_ratio
        if ratio is not None:
            return _requested_to_capacity_ratio(ratio.table, use)
        free_or_used = use.capacity - use.used if self.type == "LeastAllocated" else np.minimum(use.used, use.capacity)
        scores = np.maximum(free_or_used, 0) * MAX_NODE_SCORE // use.capacity
        total, weights = _weighted(scores, use.weights, use.present)
        means: IntArray = total // np.maximum(weights, 1)
        return means


def _requested_to_capacity_ratio(table: IntArray, use: ResourceUse) -> IntArray:
    """Score by the table of a shape. Like upstream, leave out resources that score 0, and round the mean."""
    scores = table[np.minimum(use.used, use.capacity) * MAX_UTILIZATION // use.capacity]
    counted = scores > 0 if use.present is None else (scores > 0) & use.present
    total, weights = _weighted(scores, use.weights, counted)
    divisor = np.maximum(weights, 1)
    means: IntArray = (2 * total + divisor) // (2 * divisor)
    return means


def _weighted(scores: IntArray, weights: IntArray, counted: BoolArray | None) -> tuple[IntArray, IntArray]:
    """Return the weighted sum of each node's scores and the sum of the weights that count for the node."""
    if counted is None:
        return weights @ scores, np.add.reduce(weights)
    return weights @ (scores * counted), weights @ counted
