"""Default spread constraints of kube-scheduler, and default spread constraints in a profile's arguments.

Upstream: `pkg/scheduler/apis/config/validation/validation_pluginargs.go`, ValidatePodTopologySpreadArgs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from moorage.api.base import QualifiedName
from moorage.model.pods.affinity import TopologySpreadConstraint

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", selector=None),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", selector=None),
)
"""kube-scheduler's own default constraints."""


class DefaultConstraint(BaseModel):
    """A `v1.TopologySpreadConstraint` without a selector. The plugin deduces the selector for each pod."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    max_skew: Annotated[int, Field(ge=1)]
    topology_key: QualifiedName
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    min_domains: int | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    match_label_keys: tuple[str, ...] | None = None
    """Ignored, as in kube-scheduler, because the plugin replaces the selector."""
    label_selector: Any = None

    @field_validator("label_selector")
    @classmethod
    def _reject_selector(cls, selector: Any) -> None:
        if selector is not None:
            raise ValueError("constraint must not define a selector, as they deduced for each pod")

    def decode(self) -> TopologySpreadConstraint:
        """Return the constraint as a value of `moorage.model`, without a selector."""
        return TopologySpreadConstraint(
            max_skew=self.max_skew,
            topology_key=self.topology_key,
            when_unsatisfiable=self.when_unsatisfiable,
            selector=None,
            min_domains=1 if self.min_domains is None else self.min_domains,
            honor_affinity=self.node_affinity_policy != "Ignore",
            honor_taints=self.node_taints_policy == "Honor",
        )
