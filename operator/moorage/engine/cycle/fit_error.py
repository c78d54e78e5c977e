"""Why a pod does not fit: worked out from what PreFilter and Filter left behind, only when somebody needs to know.

Upstream: pkg/scheduler/framework/types.go (Diagnosis, NodeToStatus).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from moorage.cluster.arrays import BoolArray, IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.decision import EXTENDER, Diagnosis
from moorage.engine.cycle.filtering import NodeVerdicts, PluginRejections, status_at
from moorage.engine.cycle.pre_filter import PreFiltered
from moorage.framework.status import Code, Status


@dataclass(frozen=True)
class FitError:
    """The verdicts of a cycle over the whole cluster."""

    snapshot: Snapshot
    found: PreFiltered
    verdicts: NodeVerdicts | None = None
    """Filter's verdicts; None where PreFilter ended the cycle."""
    nominated: NodeVerdicts | None = None
    """The verdict on the pod's nominated node, where PreFilter left that node out."""
    extenders: Mapping[str, Status] = field(default_factory=dict)
    """What extenders say of nodes that passed every filter."""

    def diagnose(self, *, explain: bool = False) -> Diagnosis:
        """Put the reasons together; with `explain`, those of every single node, too."""
        return Diagnosis(
            total_nodes=self.snapshot.size,
            reasons=self._reasons(),
            pre_filter=self.found.status,
            unschedulable_plugins=self._plugins(),
            pending_plugins=self._pending(),
            node_statuses=self.statuses() if explain else {},
        )

    def statuses(self) -> dict[str, Status]:
        """Return the first rejection of every node that was rejected."""
        names = self.snapshot.names
        if self.verdicts is None:
            return dict.fromkeys(names, self.found.status)
        statuses: dict[str, Status] = {}
        if self.found.node_names is not None:
            inside = self.found.node_names
            statuses = dict.fromkeys((name for name in names if name not in inside), self.found.elsewhere)
        for verdicts, rejections in self._filtered:
            statuses.update(_statuses_of(verdicts, rejections))
        return {**statuses, **self.extenders}

    def potential_nodes(self) -> IntArray:
        """Return the positions, in the cluster, of the nodes on which evictions might help."""
        if self.verdicts is None:
            everywhere = self.found.status.code is Code.UNSCHEDULABLE
            return np.arange(self.snapshot.size if everywhere else 0, dtype=np.int64)
        found = [_hopeful_of(verdicts, rejections) for verdicts, rejections in self._filtered]
        named = [self.snapshot.position(name) for name, status in self.extenders.items() if _may_help(status)]
        extended = np.array([position for position in named if position is not None], np.int64)
        return np.concatenate([*found, extended])  # no node is in two of them

    @cached_property
    def _filtered(self) -> list[tuple[NodeVerdicts, list[PluginRejections]]]:
        judged = (verdicts for verdicts in (self.verdicts, self.nominated) if verdicts is not None)
        return [(verdicts, verdicts.rejections()) for verdicts in judged]

    def _reasons(self) -> dict[str, int]:
        reasons: Counter[str] = Counter()
        if self.verdicts is None:
            return reasons
        for verdicts, rejections in self._filtered:
            for rejected in rejections:
                for rejection in rejected.reasons:
                    reasons[rejection.reason] += int(np.count_nonzero(rejection.nodes & rejected.nodes))
            reasons.update(reason for status in verdicts.crowded.values() for reason in status.reasons)
        reasons.update(reason for status in self.extenders.values() for reason in status.reasons)
        outside = self.snapshot.size - sum(verdicts.nodes.size for verdicts, _ in self._filtered)
        if outside:
            reasons.update(dict.fromkeys(self.found.elsewhere.reasons, outside))
        return {reason: count for reason, count in reasons.items() if count}

    def _plugins(self) -> frozenset[str]:
        plugins = set(self.found.rejectors)
        for verdicts, rejections in self._filtered:
            plugins.update(rejected.plugin for rejected in rejections)
            plugins.update(status.plugin for status in verdicts.crowded.values())
        if self.extenders:
            plugins.add(EXTENDER)
        return frozenset(plugins)

    def _pending(self) -> frozenset[str]:
        pending = {self.found.status.plugin} if self.found.status.code is Code.PENDING else set()
        for _, rejections in self._filtered:
            for rejected in rejections:
                if any(rejection.code is Code.PENDING for rejection in rejected.reasons):
                    pending.add(rejected.plugin)
        return frozenset(pending)


def _may_help(status: Status) -> bool:
    return status.code is Code.UNSCHEDULABLE


def _statuses_of(verdicts: NodeVerdicts, rejections: list[PluginRejections]) -> dict[str, Status]:
    names = verdicts.nodes.names
    statuses = {names[position]: status for position, status in verdicts.crowded.items()}
    for rejected in rejections:
        for position in np.flatnonzero(rejected.nodes).tolist():
            statuses[names[position]] = status_at(rejected.plugin, rejected.reasons, position)
    return statuses


def _hopeful_of(verdicts: NodeVerdicts, rejections: list[PluginRejections]) -> IntArray:
    hope: BoolArray = np.zeros(verdicts.nodes.size, np.bool_)
    for rejected in rejections:
        hope |= rejected.nodes
        for rejection in rejected.reasons:
            if rejection.code is not Code.UNSCHEDULABLE:
                hope &= ~(rejection.nodes & rejected.nodes)
    for position, status in verdicts.crowded.items():
        hope[position] = _may_help(status)
    return verdicts.nodes.gather(np.arange(verdicts.nodes.total_nodes, dtype=np.int64))[hope]
