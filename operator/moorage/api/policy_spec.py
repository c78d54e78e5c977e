"""`spec` of a SchedulingPolicy: everything a user says about how pods are scheduled.

Docstrings under fields are the text of `kubectl explain`; write them for users.
"""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, Rule, Weight, WithoutNulls, list_type, map_list
from moorage.api.extender import Extender, repeated_resources
from moorage.api.plugin_config import PluginConfig, Plugins
from moorage.api.policy_filters import FiltersSection
from moorage.api.policy_scores import GpuSection, InstanceTypesSection, LifecycleSection, ResourcesSection, ZonesSection

WEIGHTS = 64
EXTENDERS = 16
PLUGIN_CONFIGS = 64
MAX_BACKOFF_SECONDS = 3600
"""An hour; a pod that waits longer looks forgotten."""

Preset = Literal["Default", "BinPack", "Spread", "SpotFirst", "GpuPack"]


class PreemptionSection(ApiModel):
    """Whether and how pods of lower priority make room."""

    enabled: bool = True
    """False: pods of this policy never evict others. True by default."""
    pdb_policy: Literal["BestEffort", "Strict"] = "BestEffort"
    """BestEffort, the default, avoids breaking disruption budgets where it can, as kube-scheduler does. Strict never
    breaks one: victims go through the eviction subresource."""


class BackoffSection(ApiModel):
    """How long a pod waits after a failed attempt; the wait doubles from the initial one to the maximum."""

    rules = (
        Rule(
            cel="!has(self.initialSeconds) || !has(self.maxSeconds) || self.initialSeconds <= self.maxSeconds",
            holds=lambda backoff: (
                backoff.initial_seconds is None
                or backoff.max_seconds is None
                or backoff.initial_seconds <= backoff.max_seconds
            ),
            message="maxSeconds must not be below initialSeconds",
            field="maxSeconds",
        ),
    )

    initial_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] | None = None
    """The first wait. Absent: the process's podInitialBackoffSeconds, 1 by default."""
    max_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] | None = None
    """The longest wait. Absent: the process's podMaxBackoffSeconds, 10 by default."""


class SchedulingPolicySpec(ApiModel):
    """How the pods that name this policy are scheduled.

    {} schedules as kube-scheduler's default profile does, but never on serverless nodes (`filters.serverlessNodes`).
    """

    rules = (
        Rule(
            cel="!has(self.extenders) || self.extenders.filter(e, has(e.bindVerb)).size() <= 1",
            holds=lambda spec: sum(1 for extender in spec.extenders if extender.bind_verb) <= 1,
            message="only one extender can bind",
            field="extenders",
        ),
        Rule(
            cel=(
                "!has(self.extenders) || self.extenders.all(e, !has(e.managedResources) || "
                "e.managedResources.all(r, self.extenders.exists_one(o, "
                "has(o.managedResources) && o.managedResources.exists(s, s.name == r.name))))"
            ),
            holds=lambda spec: not repeated_resources(spec.extenders),
            message="a resource can be managed by one extender only",
            field="extenders",
            reason="FieldValueDuplicate",
        ),
    )

    scheduler_name: LabelValue | None = None
    """What pods write as their schedulerName. Absent: the policy's own name. Immutable."""
    allow_default_scheduler: bool = False
    """True: the policy may take the name default-scheduler, where no kube-scheduler serves it any more. False by
    default."""
    paused: bool = False
    """True: pods wait, nothing is bound. False by default."""
    preset: Preset = "Default"
    """A named starting point; what is set in this spec wins over it, field by field. Default sets nothing.
    BinPack: resources.strategy MostAllocated; weights NodeResourcesFit 5, NodeResourcesBalancedAllocation 0.
    Spread: resources.strategy LeastAllocated; zones.spread Prefer; weight ZoneSpread 5.
    SpotFirst: lifecycle.prefer spot; weight Lifecycle 10.
    GpuPack: gpu with its defaults; resources.strategy MostAllocated, resources.weights nvidia.com/gpu 5, cpu 1,
    memory 1."""
    filters: FiltersSection = FiltersSection()
    """Hard rules for nodes; all must hold."""
    weights: Annotated[dict[str, Weight], WithoutNulls] = Field(default_factory=dict, max_length=WEIGHTS)
    """The weight of each score by plugin name, 0 to 100; 0 switches the score off, any other weight switches it on. A
    name that is absent has the preset's weight, else its default one."""
    resources: ResourcesSection = ResourcesSection()
    """How much of a node's resources should be in use."""
    instance_types: InstanceTypesSection | None = None
    """Ranks nodes by instance type. Absent: as the preset says, else not ranked; {}: the default table."""
    lifecycle: LifecycleSection | None = None
    """Ranks nodes by whether they are spot, on-demand or reserved. Absent: as the preset says, else not
    ranked; {}: spot is preferred."""
    zones: ZonesSection | None = None
    """Spreads pods over zones. Absent: as the preset says, else only as kube-scheduler does by default; {}: by
    workload, as a preference."""
    gpu: GpuSection | None = None
    """Keeps GPU nodes for pods that ask for GPUs, and packs them. Absent: as the preset says, else
    GPUs are a resource like any other."""
    extenders: Annotated[
        tuple[Extender, ...], ListOf, Field(max_length=EXTENDERS, json_schema_extra=list_type("atomic"))
    ] = ()
    """Web services that are asked besides the plugins, in this order; the ignorable ones last."""
    preemption: PreemptionSection = PreemptionSection()
    """Whether and how pods of lower priority make room."""
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    """How many of the nodes must have been found to fit before ranking starts, never less than 100 nodes; 0: 50 % of
    small and 5 % of large clusters. Absent: 100 where the policy packs or prices, else the process's."""
    backoff: BackoffSection | None = None
    """How long a pod waits after a failed attempt."""
    plugins: Plugins = Plugins()
    """kube-scheduler's plugins by extension point, for what the fields above cannot say."""
    plugin_config: Annotated[
        tuple[PluginConfig, ...], ListOf, Field(max_length=PLUGIN_CONFIGS, json_schema_extra=map_list("name"))
    ] = ()
    """Arguments of plugins, as in a KubeSchedulerConfiguration; they win over what the fields above say."""
