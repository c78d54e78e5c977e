"""The fragmentation of nodes: free amounts of a scarce resource that the next pods cannot use.

A node's fragmentation is its free amount of the resource, times a share: the share of all requests for the resource
that do not fit on the node. A request fits on a node that meets the nodeSelector and the required node affinity, and
has enough free amounts of all requested resources.

The measure is that of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent" (USENIX ATC 2023), for whole devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from moorage.cluster.node_selectors import label_equals, matches_selector
from moorage.cluster.request_mix import PodRequest, Shares

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot

FloatArray = npt.NDArray[np.float64]

COVERED_SHARE = 0.99
"""The share of the requests that is counted, beginning with the most common ones. The others are too rare to matter."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of the tables of one resource."""

    cells: int = 1 << 20
    """The maximum size of one table. A table that would be larger leaves out the less common half of the requests."""
    classes: int = 64
    """The maximum number of classes of nodes. Requests whose conditions need more classes are treated as if they fit on
    no node."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class _Table:
    """A table for nodes that meet the same conditions: the share of the requests that fits into given free amounts."""

    axes: Mapping[str, IntArray]
    """For each resource, the different requested amounts, sorted."""
    shares: FloatArray
    """One dimension for each axis. At index i of an axis, less than `axis[i]` is free, but at least `axis[i - 1]`."""

    def fitting(self, free: Mapping[str, IntArray]) -> FloatArray:
        """Return, for each node, the share of the requests that fits."""
        # A pod that requests none of a resource fits, even if the pods on the node request more than the node has.
        not_negative = {resource: np.maximum(free[resource], 0) for resource in self.axes}
        places = (axis.searchsorted(not_negative[resource], side="right") for resource, axis in self.axes.items())
        shares: FloatArray = self.shares[tuple(places)]
        return shares


class Fragmentation:
    """The fragmentation of the nodes of a cluster; valid until a node object or the shares change."""

    def __init__(self, resource: str, shares: Shares, cluster: Snapshot, limits: Limits = DEFAULT_LIMITS) -> None:
        """Count the requests of `shares` for the resource."""
        self._resource = resource
        self._limits = limits
        asking = [(request, share) for request, share in shares if request.amount(resource)]
        commonest = list(_commonest(asking))
        self._requests = [request for request, _ in commonest]
        self._shares = np.array([share for _, share in commonest])
        self._classes, self._accepted = _classify(self._requests, cluster, limits.classes)

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The resources whose free amounts matter."""
        names = {name for request in self._requests for name, _ in request.amounts}
        return tuple(sorted({self._resource, *names}))

    def of(self, nodes: Snapshot, free: Mapping[str, IntArray]) -> FloatArray:
        """Return the fragmentation that a view's nodes have with these free amounts of `resources`."""
        fitting = np.empty(nodes.size)
        for table, members in self._members(nodes):
            mine = {resource: amounts[members] for resource, amounts in free.items()}
            fitting[members] = table.fitting(mine)
        return free[self._resource] * (1 - fitting)

    def _members(self, nodes: Snapshot) -> Iterator[tuple[_Table, IntArray]]:
        """Yield each table with the positions of the nodes that it is for."""
        if nodes is nodes.cluster:
            yield from self._all_members
            return
        classes = nodes.gather(self._classes)
        for number in set(classes.tolist()):
            yield self._tables[number], (classes == number).nonzero()[0]

    @cached_property
    def _all_members(self) -> list[tuple[_Table, IntArray]]:
        return [(table, (self._classes == number).nonzero()[0]) for number, table in enumerate(self._tables)]

    @cached_property
    def _tables(self) -> list[_Table]:
        """One table for each class of nodes."""
        tables: list[_Table] = []
        for accepted in self._accepted:
            requests = [self._requests[index] for index in accepted.nonzero()[0]]
            tables.append(_table(requests, self._shares[accepted], self._limits.cells))
        return tables


def _commonest(asking: list[tuple[PodRequest, float]]) -> Iterator[tuple[PodRequest, float]]:
    """Yield the most common requests, with their shares of all requests, until they make up COVERED_SHARE."""
    total = sum(share for _, share in asking)
    covered = 0.0
    for request, share in asking:
        if covered >= COVERED_SHARE * total:
            return
        covered += share
        yield request, share / total


def _classify(
    requests: Iterable[PodRequest], cluster: Snapshot, max_classes: int
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the class of each node, and for each class whether its nodes meet the conditions of each request."""
    rows: dict[tuple[object, object], BoolArray] = {}
    accepted: list[BoolArray] = []
    classes = np.zeros(cluster.size, np.int64)
    count = 1
    for request in requests:
        conditions = (request.node_selector, request.required)
        row = rows.get(conditions)
        if row is None:
            row = _matching(request, cluster)
            _, finer = np.unique(classes * 2 + row, return_inverse=True)
            finer_count = int(finer.max(initial=0)) + 1
            if finer_count > max_classes:
                row = np.zeros(cluster.size, np.bool_)
            else:
                classes, count = finer, finer_count
            rows[conditions] = row
        accepted.append(row)
    first = np.zeros(count, np.int64)
    first[classes[::-1]] = np.arange(cluster.size)[::-1]
    matrix = np.array(accepted, np.bool_).reshape(len(accepted), cluster.size)
    return classes, matrix[:, first].T if cluster.size else np.zeros((0, len(accepted)), np.bool_)


def _matching(request: PodRequest, cluster: Snapshot) -> BoolArray:
    matching = np.ones(cluster.size, np.bool_)
    for key, value in request.node_selector:
        matching &= label_equals(key, value, cluster)
    return matching & matches_selector(request.required, cluster) if request.required else matching


def _table(requests: Sequence[PodRequest], shares: FloatArray, max_cells: int) -> _Table:
    """Return the table for these requests and shares. The most common request comes first."""
    columns = _columns(requests)
    axes = {resource: np.unique(column) for resource, column in columns.items()}
    if prod(axis.size + 1 for axis in axes.values()) > max_cells:
        half = len(requests) // 2
        return _table(requests[:half], shares[:half], max_cells)
    table = np.zeros([axis.size + 1 for axis in axes.values()])
    places = tuple(axis.searchsorted(columns[resource]) + 1 for resource, axis in axes.items())
    if places:
        np.add.at(table, places, shares)
    for dimension in range(table.ndim):
        table.cumsum(axis=dimension, out=table)
    return _Table(axes, table)


def _columns(requests: Sequence[PodRequest]) -> dict[str, IntArray]:
    """Return the requested amounts by resource."""
    columns: dict[str, IntArray] = {}
    for number, request in enumerate(requests):
        for resource, amount in request.amounts:
            if resource not in columns:
                columns[resource] = np.zeros(len(requests), np.int64)
            columns[resource][number] = amount
    return columns
