"""InstanceType: filters and scores nodes by their instance type.

Scores from the policy's table are not normalized, so a node's score does not depend on other nodes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from moorage.api.policy_filters import PatternList, is_pattern
from moorage.api.policy_scores import InstanceTypesSection
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.plugins.shared.node_evaluation import NodeEvaluation, NodeEvaluationPlugin, has_new_labels
from moorage.plugins.shared.score_tables import TABLE_UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.api.policy_filters import FiltersSection
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

LABEL = "node.kubernetes.io/instance-type"
REASON = "node(s) had an instance type that the policy excludes"


class InstanceType(PolicyPlugin, NodeEvaluationPlugin, InstanceTypesSection):
    """Filters and scores nodes by the label node.kubernetes.io/instance-type (the policy's section `instanceTypes`)."""

    policy_section = "instance_types"
    default_weight = 3
    reason = REASON
    filter_field = "filters.instanceTypes"

    allow: PatternList = ()
    """Shell patterns; a node's type must match one of them. If empty, all types are allowed."""
    deny: PatternList = ()
    """Shell patterns; a node whose type matches one of them is rejected, even if its type also matches `allow`."""

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the filters that node affinity cannot express: patterns in `deny`, and `allow` if it has a pattern."""
        types = filters.instance_types
        if types is None:
            return {}
        allow = list(types.allow) if any(map(is_pattern, types.allow)) else []
        return {"allow": allow, "deny": list(filter(is_pattern, types.deny))}

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a node of an allowed type was added or relabelled."""
        del pod
        return has_new_labels(event) and self._allows(event.new.labels.get(LABEL))

    def evaluate(self, shape: PodShape, cluster: Snapshot) -> NodeEvaluation:
        """Evaluate each type once: filter by `allow` and `deny`, score by the first matching row of the table."""
        del shape
        column = cluster.label(LABEL)
        # The last entry is for nodes without the label, whose id is ABSENT (-1).
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
