"""InstanceType: which instance types a policy allows, and which it likes.

A table of scores is not normalised: a policy means the same on every set of nodes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from moorage.api.policy_filters import PatternList, is_pattern
from moorage.api.policy_scores import InstanceTypesSection
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.plugins.shared.node_evaluation import NodeEvaluation, NodeEvaluationPlugin
from moorage.plugins.shared.score_tables import TABLE_UNIT, has_new_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.api.policy_filters import FiltersSection
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

LABEL = "node.kubernetes.io/instance-type"
REASON = "node(s) had an instance type that the policy excludes"


class InstanceType(PolicyPlugin, NodeEvaluationPlugin, InstanceTypesSection):
    """Filters and scores by the label node.kubernetes.io/instance-type; its table is the policy's `instanceTypes`."""

    policy_section = "instance_types"
    default_weight = 3
    reason = REASON

    allow: PatternList = ()
    """Shell patterns of which a node's type must match one. Empty: every type may."""
    deny: PatternList = ()
    """Shell patterns; nodes that match one are refused, also when `allow` names them."""

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the bounds that node affinity cannot express: patterns, and exact names in a list with patterns."""
        types = filters.instance_types
        if types is None:
            return {}
        allow = list(types.allow) if any(map(is_pattern, types.allow)) else []
        return {"allow": allow, "deny": list(filter(is_pattern, types.deny))}

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue the pod when a node of an allowed type is added, or becomes one."""
        del pod
        return has_new_labels(event) and self._allows(event.new.labels.get(LABEL))

    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Judge each type once, by the bounds and by the first row of the table that matches."""
        del shape
        column = cluster.label(LABEL)
        # The last entry is for nodes without the label: their id, ABSENT, indexes from the end.
        types = (*column.values, None)
        allowed = np.array([self._allows(name) for name in types], dtype=np.bool_)
        scores = np.array([self._score(name) for name in types], dtype=np.int64)
        return NodeEvaluation(allowed[column.ids], scores[column.ids])

    def _allows(self, instance_type: str | None) -> bool:
        return (not self.allow or _matches(instance_type, self.allow)) and not _matches(instance_type, self.deny)

    def _score(self, instance_type: str | None) -> int:
        matching = (row.score for row in self.scores if _matches(instance_type, (row.match,)))
        return next(matching, self.default) * TABLE_UNIT


def _matches(instance_type: str | None, patterns: Iterable[str]) -> bool:
    return instance_type is not None and any(fnmatchcase(instance_type, pattern) for pattern in patterns)
