"""The reasons why a pod does not fit, computed on request from the results of PreFilter, Filter and extenders.

Upstream: pkg/scheduler/framework/types.go (FitError, Diagnosis, NodeToStatus).
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from moorage.cluster.arrays import BoolArray, IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.diagnosis import EXTENDER, Diagnosis
from moorage.engine.cycle.filtering import FilteredNodes, PluginRejections, status_at
from moorage.engine.cycle.pre_filter import PreFiltered
from moorage.framework.status import Code, Status


@dataclass(frozen=True)
class FitError:
    """The results of a cycle that found no node."""

    snapshot: Snapshot
    pre_filtered: PreFiltered
    filtered: FilteredNodes | None = None
    """The result of Filter; None if PreFilter ended the cycle."""
    nominated: FilteredNodes | None = None
    """The result of Filter for the pod's nominated node, if `filtered` does not include that node."""
    extenders: Mapping[str, Status] = field(default_factory=dict)
    """The rejections of extenders by node name, for nodes that passed all Filter plugins."""
    searches: dict[Hashable, Any] = field(default_factory=dict)
    """Results of searches for victims that made no room. The next pod with the same failure reuses them."""

    @cached_property
    def rejections(self) -> list[tuple[FilteredNodes, list[PluginRejections]]]:
        """The results of Filter with their rejections. The first read must precede the next change of the cluster."""
        results = (filtered for filtered in (self.filtered, self.nominated) if filtered is not None)
        return [(filtered, filtered.rejections()) for filtered in results]

    def diagnose(self) -> Diagnosis:
        """Return the diagnosis, without PostFilter's message."""
        return self._diagnosis

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        causes = self._causes()
        reasons: Counter[str] = Counter()
        for (reason, _), count in causes.items():
            reasons[reason] += count
        return Diagnosis(
            total_nodes=self.snapshot.size,
            reasons=reasons,
            pre_filter=self.pre_filtered.status,
            unschedulable_plugins=self._unschedulable_plugins(),
            pending_plugins=self._pending_plugins(),
            causes=causes,
        )

    def statuses(self) -> dict[str, Status]:
        """Return the first rejection of every rejected node, by node name."""
        names = self.snapshot.names
        if self.filtered is None:
            return dict.fromkeys(names, self.pre_filtered.status)
        statuses: dict[str, Status] = {}
        allowed = self.pre_filtered.node_names
        if allowed is not None:
            statuses = dict.fromkeys((name for name in names if name not in allowed), self.pre_filtered.elsewhere)
        for filtered, rejections in self.rejections:
            statuses.update(_statuses_of(filtered, rejections))
        return {**statuses, **self.extenders}

    def potential_nodes(self) -> IntArray:
        """Return the positions, in the cluster, of the nodes on which preemption may help."""
        if self.filtered is None:
            is_everywhere = self.pre_filtered.status.code is Code.UNSCHEDULABLE
            return np.arange(self.snapshot.size if is_everywhere else 0, dtype=np.int64)
        found = [_potential_nodes_of(filtered, rejections) for filtered, rejections in self.rejections]
        named = [self.snapshot.position(name) for name, status in self.extenders.items() if _may_help(status)]
        extended = np.array([position for position in named if position is not None], np.int64)
        return np.concatenate([*found, extended])  # each node is in at most one of these arrays

    def _causes(self) -> dict[tuple[str, str], int]:
        causes: Counter[tuple[str, str]] = Counter()
        if self.filtered is None:
            return causes
        for filtered, rejections in self.rejections:
            for rejected in rejections:
                for rejection in rejected.reasons:
                    count = int(np.count_nonzero(rejection.nodes & rejected.nodes))
                    causes[rejection.reason, rejection.cause] += count
            causes.update((reason, "") for status in filtered.with_nominated.values() for reason in status.reasons)
        causes.update((reason, "") for status in self.extenders.values() for reason in status.reasons)
        left_out = self.snapshot.size - sum(filtered.nodes.size for filtered, _ in self.rejections)
        if left_out:
            causes.update({(reason, ""): left_out for reason in self.pre_filtered.elsewhere.reasons})
        return {cause: count for cause, count in causes.items() if count}

    def _unschedulable_plugins(self) -> frozenset[str]:
        plugins = set(self.pre_filtered.unschedulable_plugins)
        for filtered, rejections in self.rejections:
            plugins.update(rejected.plugin for rejected in rejections)
            plugins.update(status.plugin for status in filtered.with_nominated.values())
        if self.extenders:
            plugins.add(EXTENDER)
        return frozenset(plugins)

    def _pending_plugins(self) -> frozenset[str]:
        status = self.pre_filtered.status
        pending = {status.plugin} if status.code is Code.PENDING else set()
        for _, rejections in self.rejections:
            for rejected in rejections:
                if any(rejection.code is Code.PENDING for rejection in rejected.reasons):
                    pending.add(rejected.plugin)
        return frozenset(pending)


def _may_help(status: Status) -> bool:
    """Return whether preemption may help on a node with this status."""
    return status.code is Code.UNSCHEDULABLE


def _statuses_of(filtered: FilteredNodes, rejections: list[PluginRejections]) -> dict[str, Status]:
    names = filtered.nodes.names
    statuses = {names[position]: status for position, status in filtered.with_nominated.items()}
    for rejected in rejections:
        for position in np.flatnonzero(rejected.nodes).tolist():
            statuses[names[position]] = status_at(rejected.plugin, rejected.reasons, position)
    return statuses


def _potential_nodes_of(filtered: FilteredNodes, rejections: list[PluginRejections]) -> IntArray:
    potential: BoolArray = np.zeros(filtered.nodes.size, np.bool_)
    for rejected in rejections:
        potential |= rejected.nodes
        for rejection in rejected.reasons:
            if rejection.code is not Code.UNSCHEDULABLE:
                potential &= ~(rejection.nodes & rejected.nodes)
    for position, status in filtered.with_nominated.items():
        potential[position] = _may_help(status)
    return filtered.nodes.gather(np.arange(filtered.nodes.total_nodes, dtype=np.int64))[potential]
