"""The results of a simulation."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

MARKS = (80, 90, 100, 110, 120, 130)
"""The allocated share is measured when the tasks have requested these percentages of all GPUs."""


class Series(Struct, frozen=True):
    """The allocated shares in percent, at several times or at several requested shares."""

    points: tuple[float, ...] = ()
    percent: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """One value for each point, by resource."""


class GroupUse(Struct, frozen=True):
    """The use of a group of nodes that have one value of a field, such as one zone."""

    nodes: int
    pods: int
    percent: Mapping[str, float]
    """The allocated share by resource. Resources that the nodes do not have are left out."""


class Waiting(Struct, frozen=True):
    """Percentiles of the seconds from the arrival to the placement of the placed tasks."""

    p50: float
    p95: float
    p99: float


class Cost(Struct, frozen=True):
    """The price of the nodes that run pods. All nodes together cost `of_all_nodes`."""

    of_used_nodes: float
    of_all_nodes: float
    is_total: bool
    """Whether the amounts are for the whole time of a trace; otherwise they are for an hour."""


class PolicyResult(Struct, frozen=True, kw_only=True):
    """The result for one policy."""

    name: str
    placed: int
    unplaced: int
    reasons: Mapping[str, int]
    """The number of unplaced tasks by reason."""
    allocated: Mapping[str, Mapping[str, float]]
    """The allocated share in percent, by resource and mark."""
    use: Mapping[str, float]
    """The allocated share in percent, by resource: at the busiest moment of a trace, or at the end of arrivals."""
    groups: Mapping[str, Mapping[str, GroupUse]]
    """The use by field and value of the nodes, such as zone and us-east-1a. Fields that no node has are left out."""
    stranded: Mapping[str, float]
    """The stranded share by resource, in percent of the nodes' amounts (`moorage.simulator.stranded`)."""
    skew: Mapping[str, float]
    """The largest difference between two zones in pods, and the standard deviation of the nodes' use in percent."""
    preemptions: int
    waiting: Waiting | None = None
    cost: Cost | None = None
    series: Series = Series()
    node_percent: tuple[float, ...] = ()
    """The allocated share of each node: of its GPUs, or of its cpu if it has none."""
    placements: bytes = b""
    """The node of each task as a 32-bit index; -1 means no node. Empty if the request does not keep placements."""
