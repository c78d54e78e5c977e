"""A decision to bind a pod. The scheduling loop captures the decision at low cost, and makes the record later.

The captured decision refers to some arrays of its cycle, to which no later cycle writes. `summarize` copies the rows
that the record needs. The references to the arrays are then dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from moorage.cluster.arrays import BoolArray, IntArray
from moorage.engine.cycle.filtering import FilteredNodes
from moorage.engine.cycle.pre_filter import PreFiltered
from moorage.engine.messages import ExtenderCall
from moorage.engine.records.decision_record import DecisionOutcome, NodeCount
from moorage.engine.records.rejected_nodes import count_nodes, counts_left_out, counts_with_nominated
from moorage.engine.records.score_rows import CapturedScores
from moorage.engine.records.stored_record import Durations, Moment, StoredRecord, record_of
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import Status
from moorage.model.pods.pod import Pod


class CapturedFilters(Struct, frozen=True, eq=False, gc=False):
    """The results of Filter for a pod that does not fit on all nodes."""

    plugins: Sequence[FilterPlugin[Any]]
    passed: Sequence[BoolArray]
    """The nodes that pass each plugin."""
    slots: IntArray | None
    """The slots of the filtered nodes; None for all nodes of the cluster."""
    with_nominated: Mapping[int, Status]
    """The statuses of the nodes that are rejected because of their nominated pods, by position."""
    left_out: tuple[NodeCount, ...]

    def counts(self, names: Sequence[str]) -> Iterator[NodeCount]:
        """Yield the number of rejected nodes for each plugin, without reasons, because they were not captured."""
        left = np.ones(self.passed[0].size if self.passed else 0, np.bool_)
        left[list(self.with_nominated)] = False
        for plugin, passed in zip(self.plugins, self.passed, strict=True):
            rejected = left & ~passed
            if rejected.any():
                yield count_nodes(plugin.name, "", rejected, names, self.slots)
                left &= passed
        yield from counts_with_nominated(self.with_nominated, names, self.slots)
        yield from self.left_out


def capture_filters(filtered: FilteredNodes, pre_filtered: PreFiltered, total_nodes: int) -> CapturedFilters | None:
    """Return the results of Filter; None if the pod fits on all nodes."""
    size = filtered.feasible.size
    if np.count_nonzero(filtered.feasible) == total_nodes:
        return None
    plugins, results, slots = filtered.filters, filtered.results, filtered.nodes.slots
    passed = [results[plugin].passed for plugin in plugins]
    is_narrow = pre_filtered.node_names is not None and size < total_nodes
    left_out = tuple(counts_left_out(pre_filtered, total_nodes - size)) if is_narrow else ()
    return CapturedFilters(plugins, passed, slots, filtered.with_nominated, left_out)


class CapturedBinding(Struct, frozen=True, eq=False, gc=False):
    """A decision to bind."""

    pod: Pod
    profile: Profile
    attempt: int
    seed: int
    cycle: int
    at: float
    node: str
    evaluated_nodes: int
    fitting_nodes: int
    filters: CapturedFilters | None
    scores: CapturedScores | None
    names: Sequence[str]
    """The names of all nodes by slot."""
    extenders: tuple[ExtenderCall, ...] = ()
    durations: Durations = ()

    def summarize(self) -> StoredRecord:
        """Return the record. The record does not refer to the arrays of the cycle."""
        names = self.names
        record = replace(
            record_of(self.pod, self.profile, Moment(self.seed, self.cycle, self.at), DecisionOutcome.BOUND),
            node=self.node,
            attempt=self.attempt,
            total_nodes=len(names),
            evaluated_nodes=self.evaluated_nodes,
            fitting_nodes=self.fitting_nodes,
            extenders=self.extenders,
            filters=tuple(self.filters.counts(names)) if self.filters else (),
        )
        rows = self.scores.rows(self.profile, names) if self.scores else None
        return StoredRecord(record, rows, self.durations)
