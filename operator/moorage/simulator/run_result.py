"""The results of a simulation."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

MARKS = (80, 90, 100, 110, 120, 130)
"""The percentages of all GPUs asked for at which the allocated share is measured."""


class Series(Struct, frozen=True):
    """The allocated shares in percent, at points of time or of the share asked for."""

    points: tuple[float, ...] = ()
    percent: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By resource, one value for each point."""


class GroupUse(Struct, frozen=True):
    """The use of the nodes with one value of a field, such as one zone."""

    nodes: int
    pods: int
    percent: Mapping[str, float]
    """By resource, the allocated share; without resources that the nodes do not have."""


class Waiting(Struct, frozen=True):
    """The time in seconds from arrival to placement, of the placed tasks."""

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
    """By resource and mark, the allocated share in percent."""
    use: Mapping[str, float]
    """By resource, the allocated share in percent: at the end, or for a trace at its busiest moment."""
    groups: Mapping[str, Mapping[str, GroupUse]]
    """By field of the nodes file and value; without fields that no node has."""
    stranded: Mapping[str, float]
    """By resource, the stranded share in percent of the nodes' amounts (`moorage.simulator.stranded`)."""
    skew: Mapping[str, float]
    """The largest difference between two zones in pods, and the standard deviation of the nodes' use in percent."""
    preemptions: int
    waiting: Waiting | None = None
    cost: Cost | None = None
    series: Series = Series()
    node_percent: tuple[float, ...] = ()
    """The allocated share of each node: of its GPUs, or of its cpu if it has none."""
    placements: bytes = b""
    """The node of each task as a 32-bit index, -1 for none; empty if not asked for."""
