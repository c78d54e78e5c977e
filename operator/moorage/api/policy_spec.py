"""`spec` of a SchedulingPolicy. The docstrings under its fields are the texts of `kubectl explain`."""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, Rule, Weight, WithoutNulls, list_type, map_list
from moorage.api.extender import further_binders, repeated_resources
from moorage.api.namespace_selector import NamespaceSelector
from moorage.api.plugin_config import PluginConfig, Plugins
from moorage.api.policy_extender import PolicyExtender
from moorage.api.policy_filters import FiltersSection
from moorage.api.policy_scores import (
    GpuSection,
    InstanceTypesSection,
    LifecycleSection,
    ResourcesSection,
    ScarcitySection,
    ZonesSection,
)

WEIGHTS = 64
EXTENDERS = 16
PLUGIN_CONFIGS = 64
MAX_BACKOFF_SECONDS = 3600
"""One hour. A pod that waits longer looks stuck."""

Preset = Literal["Default", "BinPack", "Spread", "SpotFirst", "GpuPack"]


class PreemptionSection(ApiModel):
    """Eviction of pods with lower priority, to make room for a pod that fits no node."""

    enabled: bool = True
    """Whether pods of this policy may evict others."""
    pdb_policy: Literal["BestEffort", "Strict"] = "BestEffort"
    """Use of PodDisruptionBudgets. BestEffort avoids violations if possible, and deletes the victims, as kube-scheduler
    does. Strict evicts the victims through the eviction API, which never violates a budget."""


class BackoffSection(ApiModel):
    """Waiting time after a failed scheduling attempt. Each further failure doubles it, up to the maximum."""

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
    """Waiting time after the first failed attempt, in seconds, 1 to 3600. Absent: podInitialBackoffSeconds of the
    operator's configuration, which is 1 by default."""
    max_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] | None = None
    """Maximum waiting time, in seconds, 1 to 3600. Absent: podMaxBackoffSeconds of the operator's configuration, which
    is 10 by default."""


class CanarySection(ApiModel):
    """The share of the pods of another policy."""

    of: LabelValue
    """The name of the other policy."""
    percent: Annotated[int, Field(ge=0, le=100)]
    """The share in percent, 0 to 100. The uid of a pod's owner, such as its ReplicaSet, decides whether the policy
    takes the pod. So it takes all pods of an owner or none, and a larger share keeps the pods of a smaller one."""


class SchedulingPolicySpec(ApiModel):
    """Scheduling of the pods of this policy.

    An empty spec schedules as kube-scheduler's default profile does, but excludes serverless nodes
    (`filters.serverlessNodes`).
    """

    rules = (
        Rule(
            cel="(has(self.mode) && self.mode == 'Shadow') == has(self.shadowOf)",
            holds=lambda spec: (spec.mode == "Shadow") == (spec.shadow_of is not None),
            message="mode Shadow needs shadowOf, and only mode Shadow has it",
            field="shadowOf",
        ),
        Rule(
            cel="!has(self.canary) || !has(self.mode) || self.mode != 'Shadow'",
            holds=lambda spec: spec.canary is None or spec.mode != "Shadow",
            message="a policy in mode Shadow binds no pods, so it cannot be a canary",
            field="canary",
        ),
        Rule(
            cel="!has(self.extenders) || self.extenders.filter(e, has(e.bindVerb)).size() <= 1",
            holds=lambda spec: not further_binders(spec.extenders),
            message="only one extender can bind",
            field="extenders",
            locate=lambda spec: further_binders(spec.extenders),
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
            locate=lambda spec: repeated_resources(spec.extenders),
            reason="FieldValueDuplicate",
        ),
    )

    scheduler_name: LabelValue | None = None
    """The spec.schedulerName of the pods of this policy. Immutable. Absent: the name of the policy."""
    allow_default_scheduler: bool = False
    """Whether schedulerName may be default-scheduler. Set it to true only if no kube-scheduler serves that name. The
    operator must also run with --allow-default-scheduler; otherwise it refuses the policy."""
    mode: Literal["Active", "Shadow"] = "Active"
    """Active binds pods. Shadow decides for the pods of the schedulerName `shadowOf` at the moment when another policy
    or scheduler places them, counts in the status how the decisions differ, and binds no pods."""
    shadow_of: LabelValue | None = None
    """The spec.schedulerName of the pods for which this policy decides in mode Shadow. default-scheduler stands for the
    pods of kube-scheduler."""
    canary: CanarySection | None = None
    """Takes a share of the pods of another policy, in addition to the pods with this policy's own schedulerName.
    Absent: no share."""
    paused: bool = False
    """Whether scheduling is paused: the pods of this policy wait, and none is bound."""
    allowed_namespaces: NamespaceSelector | None = Field(
        default=None, json_schema_extra={"x-kubernetes-map-type": "atomic"}
    )
    """Selector for the namespaces whose pods may use this policy. Pods of other namespaces wait, with the reason in
    their condition and an event. Absent: all namespaces may use it."""
    preset: Preset = "Default"
    """A named set of fields. Fields that this spec sets take precedence over those of the preset.
    Default sets no fields.
    BinPack sets resources.strategy MostAllocated, and the weights NodeResourcesFit 5 and
    NodeResourcesBalancedAllocation 0.
    Spread sets resources.strategy LeastAllocated, zones.spread Prefer, and the weight ZoneSpread 5.
    SpotFirst sets lifecycle.prefer spot, and the weight Lifecycle 10.
    GpuPack sets gpu.podsWithGpu LeastFragmentation, and the weights NodeResourcesFit 0 and
    NodeResourcesBalancedAllocation 0."""
    filters: FiltersSection = FiltersSection()
    """Requirements for nodes. A node must meet all of them."""
    weights: Annotated[dict[str, Weight], WithoutNulls] = Field(default_factory=dict, max_length=WEIGHTS)
    """Weights of scores, 0 to 100, by plugin name. 0 turns the score of a plugin off; any other weight turns it on. A
    plugin without an entry has the weight of the preset, or its default weight."""
    resources: ResourcesSection = ResourcesSection()
    """Ranks nodes by the use of their resources."""
    instance_types: InstanceTypesSection | None = None
    """Ranks nodes by instance type. {} uses the default scores. Absent: the section of the preset, or no ranking."""
    lifecycle: LifecycleSection | None = None
    """Ranks nodes by lifecycle class: spot, on-demand or reserved. {} prefers spot nodes. Absent: the section of the
    preset, or no ranking."""
    zones: ZonesSection | None = None
    """Spreads pods over zones, and ranks zones. {} prefers zones with fewer pods of the same workload. Absent: the
    section of the preset, or only the default spreading of kube-scheduler."""
    gpu: GpuSection | None = None
    """Keeps GPU nodes for pods that request GPUs, and ranks these nodes. {} avoids GPU nodes for other pods, and packs
    GPU nodes. Absent: the section of the preset, or no difference between GPUs and other resources."""
    scarcity: ScarcitySection | None = None
    """Keeps free amounts of scarce resources usable for the next pods. Absent: no such ranking, unless
    gpu.podsWithGpu is LeastFragmentation."""
    extenders: Annotated[
        tuple[PolicyExtender, ...], ListOf, Field(max_length=EXTENDERS, json_schema_extra=list_type("atomic"))
    ] = ()
    """Extenders: web services that the scheduler calls after its plugins, in this order, but ignorable extenders last.
    The extenders of the operator's configuration are called before these extenders."""
    preemption: PreemptionSection = PreemptionSection()
    """Eviction of pods with lower priority, to make room for a pod that fits no node."""
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percentage of all nodes, 0 to 100. The scheduler stops its search for feasible nodes when it has found this part
    of the nodes, and at least 100 nodes. 0: from 50 percent for small clusters down to 5 percent for large ones.
    Absent: 100 if the policy packs nodes or has one of the sections instanceTypes, lifecycle, zones, gpu and scarcity;
    otherwise the value of the operator's configuration."""
    backoff: BackoffSection | None = None
    """Waiting time after a failed scheduling attempt. Absent: the times of the operator's configuration."""
    plugins: Plugins = Plugins()
    """Plugins to enable or disable at each extension point, as in a KubeSchedulerConfiguration. They take precedence
    over the plugins that the fields above enable."""
    plugin_config: Annotated[
        tuple[PluginConfig, ...], ListOf, Field(max_length=PLUGIN_CONFIGS, json_schema_extra=map_list("name"))
    ] = ()
    """Arguments of plugins, as in a KubeSchedulerConfiguration. They take precedence over the arguments that the fields
    above set."""
