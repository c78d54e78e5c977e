"""Counts what moved: the tasks that a policy places elsewhere than kube-scheduler does."""

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
    """The moves from the baseline to one policy."""

    policy: str
    same_node: int
    other_node: int
    only_baseline: int
    """The tasks that only the baseline places."""
    only_policy: int
    neither: int
    groups: tuple[str, ...]
    """The groups of nodes, and NOT_PLACED."""
    table: tuple[tuple[int, ...], ...]
    """A row for each group of the baseline, a column for each group of the policy: the number of tasks."""


def moves_of(simulation: Simulation) -> tuple[Moves, ...]:
    """Return the moves of each policy."""
    field = grouping_of(simulation.nodes)
    names, groups = _groups(simulation.nodes, field)
    baseline = _nodes_of(simulation.results[0])
    return tuple(_moves(result, baseline, names, groups) for result in simulation.results[1:])


def grouping_of(nodes: Sequence[FileNode]) -> str:
    """Return the field that groups the nodes: the first one that is set, the model first; empty for none."""
    return next((name for name in reversed(GROUP_FIELDS) if any(getattr(node, name) for node in nodes)), "")


def _moves(result: PolicyResult, before: np.ndarray, names: list[str], groups: np.ndarray) -> Moves:
    after = _nodes_of(result)
    was, is_now = before >= 0, after >= 0
    # Index -1 of the groups is NOT_PLACED.
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
    """Return the names of the groups, and for each node the index of its group; the last entry is NOT_PLACED."""
    values = [getattr(node, field) or NO_VALUE if field else "all nodes" for node in nodes]
    counts = Counter(values)
    common = [value for value, _ in counts.most_common(MAX_GROUPS)]
    names = [*sorted(common), *(["others"] if len(counts) > len(common) else []), NOT_PLACED]
    index = {name: position for position, name in enumerate(names)}
    return names, np.array([*(index.get(value, index.get("others", 0)) for value in values), len(names) - 1])


def _nodes_of(result: PolicyResult) -> np.ndarray:
    return np.frombuffer(result.placements, np.int32)
