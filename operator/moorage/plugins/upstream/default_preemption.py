"""DefaultPreemption: enables preemption and limits the search for victims.

The search is in `moorage.engine.preemption.victim_search`.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from moorage.api.base import raise_errors, rule_error
from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.framework.extension_points import PreemptionPlugin
from moorage.model.pods.pod import Pod


class DefaultPreemption(PreemptionPlugin):
    """Evicts pods of lower priority to make room for a pod that fits on no node."""

    interests = frozenset({"Pod", "PodDisruptionBudget"})

    min_candidate_nodes_percentage: Annotated[int, Field(ge=0, le=100)] = 10
    """The minimum number of nodes to try, as a percentage of the nodes where evictions could help."""
    min_candidate_nodes_absolute: Annotated[int, Field(ge=0)] = 100
    """The minimum number of nodes to try. The larger of the two minimums applies."""

    @model_validator(mode="after")
    def _check_minimums(self) -> Self:
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            error = rule_error("must not be 0 if minCandidateNodesAbsolute is 0", "minCandidateNodesPercentage")
            raise_errors(type(self), [error])
        return self

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether a pod or a disruption budget changed or was deleted."""
        del pod
        return event.action is not Action.ADD

    def candidate_count(self, potential: int) -> int:
        """Return the number of nodes to try (upstream GetOffsetAndNumCandidates, without the offset)."""
        wanted = max(potential * self.min_candidate_nodes_percentage // 100, self.min_candidate_nodes_absolute)
        return min(wanted, potential)
