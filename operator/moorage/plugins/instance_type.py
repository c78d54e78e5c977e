"""InstanceType: which instance types a policy allows, and which it likes.

A table of scores is not normalised: a policy means the same on every set of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from moorage.api.policy_filters import PatternList
from moorage.api.policy_scores import InstanceTypes
from moorage.framework.interface import FilterPlugin, Rejection, ScorePlugin, Verdict
from moorage.framework.status import Code
from moorage.plugins.tables import TABLE_UNIT, has_new_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.framework.arrays import BoolArray, IntArray
    from moorage.framework.events import ClusterEvent
    from moorage.framework.snapshot import Snapshot
    from moorage.model.pod import Pod

LABEL = "node.kubernetes.io/instance-type"
REASON = "node(s) had an instance type that the policy excludes"


@dataclass(frozen=True, slots=True)
class _Opinion:
    """What the policy makes of the cluster's nodes."""

    allowed: BoolArray
    scores: IntArray


class InstanceType(FilterPlugin[None], ScorePlugin[None], InstanceTypes):
    """Filters and scores by the label node.kubernetes.io/instance-type; its table is the policy's `instanceTypes`."""

    default_weight = 3
    has_static_verdict = True
    has_static_score = True
    interests = frozenset({"Node"})

    allow: PatternList = ()
    """Shell patterns of which a node's type must match one. Empty: every type may."""
    deny: PatternList = ()
    """Shell patterns; nodes that match one are refused, also when `allow` names them."""

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> Verdict:
        """Pass nodes whose type is allowed; a node without the label has a type that no pattern matches."""
        del state
        passed = nodes.gather(self._opinion(pod, nodes).allowed)
        return Verdict(passed, lambda: (Rejection(~passed, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),))

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Score by the first row that matches a node's type."""
        del state
        return nodes.gather(self._opinion(pod, nodes).scores)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node of an allowed type is added, or becomes one."""
        del pod
        return has_new_labels(event) and self._allows(event.new.labels.get(LABEL))

    def _opinion(self, pod: Pod, nodes: Snapshot) -> _Opinion:
        cluster = nodes.cluster
        return cluster.memo(self, pod.shape, cluster.generations.nodes, lambda: self._judge(cluster))

    def _judge(self, cluster: Snapshot) -> _Opinion:
        column = cluster.label(LABEL)
        # The last entry is for nodes without the label: their id, ABSENT, indexes from the end.
        types = (*column.values, None)
        allowed = np.array([self._allows(name) for name in types], dtype=np.bool_)
        scores = np.array([self._score(name) for name in types], dtype=np.int64)
        return _Opinion(allowed[column.ids], scores[column.ids])

    def _allows(self, instance_type: str | None) -> bool:
        return (not self.allow or _matches(instance_type, self.allow)) and not _matches(instance_type, self.deny)

    def _score(self, instance_type: str | None) -> int:
        matching = (row.score for row in self.scores if _matches(instance_type, (row.match,)))
        return next(matching, self.default) * TABLE_UNIT


def _matches(instance_type: str | None, patterns: Iterable[str]) -> bool:
    return instance_type is not None and any(fnmatchcase(instance_type, pattern) for pattern in patterns)
