"""What both scores by resources share: which resources count for a pod, and how much of them each node has.

Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from pydantic import BeforeValidator, Field

from moorage.api.base import ApiModel
from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.resources import Resources

D = TypeVar("D", bound=np.generic)

_ALWAYS_SCORED = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""Resources that count even for a pod that requests nothing of them."""


def _default_to_one(weight: Any) -> Any:
    """Read a weight of 0 as one that was not given."""
    return 1 if weight == 0 else weight


class ResourceSpec(ApiModel):
    """A resource and how much it counts."""

    name: str
    """The resource's name, such as `cpu` or `nvidia.com/gpu`."""
    weight: Annotated[int, BeforeValidator(_default_to_one), Field(ge=1, le=100)] = 1
    """How much the resource counts beside the others; 0 is the same as none given, 1."""


DEFAULT_RESOURCES = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))
"""What counts where nothing is configured."""


@dataclass(frozen=True, slots=True)
class ScoredResources:
    """The resources that count for pods of a shape; what has a row each is in the order of `names`."""

    names: tuple[str, ...]
    amounts: IntArray
    """What a pod requests: one row, and one column for all nodes."""
    weights: IntArray
    present: tuple[BoolArray, ...] | None
    """Which nodes of the cluster have each resource, their capacity not being 0; None where all nodes have all."""

    def use(self, before: Sequence[IntArray], nodes: Snapshot) -> Use:
        """Return the use of the resources on a view's nodes, given how much of each is in use before the pod comes."""
        capacity = _rows([nodes.allocatable(name) for name in self.names], nodes.size)
        if self.present is None:
            return Use(capacity, _rows(before, nodes.size), self.amounts, self.weights, None)
        present = _rows([nodes.gather(each) for each in self.present], nodes.size)
        return Use(np.maximum(capacity, 1), _rows(before, nodes.size), self.amounts, self.weights, present)


class Use(Struct, frozen=True):
    """Resources on nodes: a row a resource, a column a node."""

    capacity: IntArray
    """What nodes offer; 1 where a node lacks the resource, so that it can be divided by."""
    before: IntArray
    """What is in use without the pod."""
    amounts: IntArray
    weights: IntArray
    present: BoolArray | None
    """Which nodes have which resource; None where all nodes have all."""

    @property
    def used(self) -> IntArray:
        """What would be in use with the pod."""
        return self.before + self.amounts


def scored_resources(specs: Sequence[ResourceSpec], requests: Resources, cluster: Snapshot) -> ScoredResources:
    """Return which of the resources count for a pod: cpu, memory and storage always, others only if it requests them.

    Resources that no node has are left out.
    """
    counted = [spec for spec in specs if spec.name in _ALWAYS_SCORED or requests.get(spec.name)]
    present = {spec.name: cluster.allocatable(spec.name) != 0 for spec in counted}
    found = [spec for spec in counted if present[spec.name].any()]
    everywhere = all(present[spec.name].all() for spec in found)
    return ScoredResources(
        names=tuple(spec.name for spec in found),
        amounts=np.array([[requests.get(spec.name)] for spec in found], dtype=np.int64).reshape(-1, 1),
        weights=np.array([spec.weight for spec in found], dtype=np.int64),
        present=None if everywhere else tuple(present[spec.name] for spec in found),
    )


def _rows(columns: Sequence[npt.NDArray[D]], size: int) -> npt.NDArray[D]:
    """Put columns of `size` entries below each other; `np.stack` would do, in six times the time for a few nodes."""
    return np.array(columns) if columns else np.empty((0, size), dtype=np.int64)
