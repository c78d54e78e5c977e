"""What both scores by resources share: which resources count for a pod, and how much of them each node has.

Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from moorage.api.base import ApiModel
from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.framework.arrays import BoolArray, IntArray
    from moorage.framework.snapshot import Snapshot
    from moorage.model.resources import Resources

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
class ScoredResource:
    """A resource that counts for a pod."""

    name: str
    amount: int
    """What the pod requests of it."""
    weight: int
    present: BoolArray | None
    """Which nodes of the cluster have the resource, their capacity not being 0; None where all do."""


def scored_resources(
    specs: Sequence[ResourceSpec], requests: Resources, cluster: Snapshot
) -> tuple[ScoredResource, ...]:
    """Return which of the resources count for a pod: cpu, memory and storage always, others only if it requests them.

    Resources that no node has are left out.
    """
    found = []
    for spec in specs:
        amount = requests.get(spec.name)
        if not amount and spec.name not in _ALWAYS_SCORED:
            continue
        present = cluster.allocatable(spec.name) != 0
        if present.any():
            found.append(ScoredResource(spec.name, amount, spec.weight, None if present.all() else present))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of one resource each node of a view has, and how much of it is in use without the pod and with it."""

    capacity: IntArray
    before: IntArray
    used: IntArray
    weight: int
    present: BoolArray | None
    """Which nodes have the resource at all; None where all do."""

    @property
    def divisor(self) -> IntArray:
        """The capacity, with 1 in place of 0: what is divided there does not count."""
        return self.capacity if self.present is None else np.maximum(self.capacity, 1)


def usage_of(resource: ScoredResource, before: IntArray, nodes: Snapshot) -> Usage:
    """Return the resource's use on the nodes, given how much of it is in use before the pod comes."""
    return Usage(
        capacity=nodes.allocatable(resource.name),
        before=before,
        used=before + resource.amount,
        weight=resource.weight,
        present=None if resource.present is None else nodes.gather(resource.present),
    )
