"""Counts the tasks that a policy places on other nodes than kube-scheduler does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from moorage.simulator.node_file import FileNode
from moorage.simulator.run_measures import GROUP_FIELDS, NO_VALUE
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Simulation

NOT_PLACED = "not placed"
MAX_GROUPS = 12


class Moves(Struct, frozen=True):
    """The number of tasks that a policy places differently from the baseline, which is kube-scheduler."""

    policy: str
    same_node: int
    other_node: int
    only_baseline: int
    """The tasks that only the baseline places."""
    only_policy: int
    neither: int
    groups: tuple[str, ...]
    """The names of the groups of nodes; the last name is NOT_PLACED."""
    table: tuple[tuple[int, ...], ...]
    """The number of tasks for each pair of groups: the row is the group that the baseline chose, the column the
    policy's group."""


def moves_of(simulation: Simulation) -> tuple[Moves, ...]:
    """Return the differences for each policy."""
    field = grouping_of(simulation.nodes)
    names, groups = _groups(simulation.nodes, field)
    baseline = _nodes_of(simulation.results[0])
    return tuple(_moves(result, baseline, names, groups) for result in simulation.results[1:])


def grouping_of(nodes: Sequence[FileNode]) -> str:
    """Return the field that groups the nodes: the last field of GROUP_FIELDS that any node has.

    Return "" if there is none.
    """
    return next((name for name in reversed(GROUP_FIELDS) if any(getattr(node, name) for node in nodes)), "")


def _moves(result: PolicyResult, before: np.ndarray, names: list[str], groups: np.ndarray) -> Moves:
    after = _nodes_of(result)
    was, is_now = before >= 0, after >= 0
    # A task without a node has the index -1, which is the last group: NOT_PLACED.
    table = np.zeros((len(names), len(names)), np.int64)
    np.add.at(table, (groups[before], groups[after]), 1)
    return Moves(
        result.name,
        int((was & (before == after)).sum()),
        int((was & is_now & (before != after)).sum()),
        int((was & ~is_now).sum()),
        int((~was & is_now).sum()),
        int((~was & ~is_now).sum()),
        tuple(names),
        tuple(tuple(row) for row in table.tolist()),
    )


def _groups(nodes: Sequence[FileNode], field: str) -> tuple[list[str], np.ndarray]:
    """Return the names of the groups, and the index of the group of each node.

    Both end with an entry for NOT_PLACED.
    """
    values = [getattr(node, field) or NO_VALUE if field else "all nodes" for node in nodes]
    counts = Counter(values)
    common = [value for value, _ in counts.most_common(MAX_GROUPS)]
    names = [*sorted(common), *(["others"] if len(counts) > len(common) else []), NOT_PLACED]
    index = {name: position for position, name in enumerate(names)}
    return names, np.array([*(index.get(value, index.get("others", 0)) for value in values), len(names) - 1])


def _nodes_of(result: PolicyResult) -> np.ndarray:
    return np.frombuffer(result.placements, np.int32)
