"""DefaultPreemption: limits of the search for victims, which is in `moorage.engine.preemption.victim_search`.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from moorage.framework.cluster_events import Action, ClusterEvent
from moorage.framework.extension_points import PreemptionPlugin
from moorage.model.pods.pod import Pod


class DefaultPreemption(PreemptionPlugin):
    """Makes room for a pod that fits nowhere by evicting pods of lower priority."""

    interests = frozenset({"Pod", "PodDisruptionBudget"})

    min_candidate_nodes_percentage: Annotated[int, Field(ge=0, le=100)] = 10
    """How many of the nodes where evictions could help are tried at least, in percent."""
    min_candidate_nodes_absolute: Annotated[int, Field(ge=0)] = 100
    """How many of them are tried at least, as a number. The larger of the two counts."""

    @model_validator(mode="after")
    def _try_some(self) -> Self:
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            raise ValueError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be 0")
        return self

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Queue a pod that budgets keep out when one of them, or what they cover, changes or goes."""
        del pod
        return event.action is not Action.ADD

    def candidate_count(self, potential: int) -> int:
        """Return upstream's GetOffsetAndNumCandidates, without the offset."""
        wanted = max(potential * self.min_candidate_nodes_percentage // 100, self.min_candidate_nodes_absolute)
        return min(wanted, potential)
