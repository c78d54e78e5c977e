"""`spec` of a SchedulingPolicy. `kubectl explain` shows the docstrings under the fields."""

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
"""The longest backoff that a policy may set: one hour. A pod that waits longer looks stuck."""

Preset = Literal["Default", "BinPack", "Spread", "SpotFirst", "GpuPack"]


class PreemptionSection(ApiModel):
    """Eviction of pods with lower priority, to make room for a pod that fits on no node."""

    enabled: bool = True
    """Whether pods of this policy may evict other pods."""
    pdb_policy: Literal["BestEffort", "Strict"] = "BestEffort"
    """Use of PodDisruptionBudgets. BestEffort avoids violations if possible, and deletes the victims, like
    kube-scheduler. Strict evicts the victims through the eviction API, which never violates a budget."""


class BackoffSection(ApiModel):
    """Waiting time after a failed scheduling attempt. Each further failure doubles the time, up to the maximum."""

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
    """Waiting time after the first failed attempt, in seconds, 1 to 3600. Default: podInitialBackoffSeconds of the
    operator's configuration, which is 1 by default."""
    max_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] | None = None
    """Maximum waiting time, in seconds, 1 to 3600. Default: podMaxBackoffSeconds of the operator's configuration, which
    is 10 by default."""


class CanarySection(ApiModel):
    """The pods of another policy that this policy takes."""

    of: LabelValue
    """The name of the other policy."""
    percent: Annotated[int, Field(ge=0, le=100)]
    """The share in percent, 0 to 100. The uid of a pod's owner, such as its ReplicaSet, decides whether this policy
    takes the pod. So this policy takes all pods of an owner or none of them. If the share grows, this policy keeps the
    owners that it has."""


class SchedulingPolicySpec(ApiModel):
    """Scheduling of the pods of this policy.

    An empty spec schedules like kube-scheduler's default profile, but excludes serverless nodes
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
    """The spec.schedulerName of the pods of this policy. Immutable. Default: the name of the policy."""
    allow_default_scheduler: bool = False
    """Whether schedulerName may be default-scheduler. Set this field to true only if no kube-scheduler serves the name.
    The operator refuses the policy if it runs without --allow-default-scheduler."""
    mode: Literal["Active", "Shadow"] = "Active"
    """A policy in mode Active binds pods. A policy in mode Shadow binds no pods. When another policy or scheduler
    places a pod whose schedulerName is the value of `shadowOf`, this policy also decides for the pod. The status counts
    how the decisions differ."""
    shadow_of: LabelValue | None = None
    """The spec.schedulerName of the pods for which this policy decides in mode Shadow. kube-scheduler's pods have the
    name default-scheduler."""
    canary: CanarySection | None = None
    """Takes a share of the pods of another policy, in addition to the pods with this policy's own schedulerName.
    If absent, this policy takes no share."""
    paused: bool = False
    """Whether scheduling is paused. The pods of a paused policy wait, and none of them is bound."""
    allowed_namespaces: NamespaceSelector | None = Field(
        default=None, json_schema_extra={"x-kubernetes-map-type": "atomic"}
    )
    """Selector for the namespaces whose pods may use this policy. Pods of other namespaces wait, and their condition
    and an event show the reason. If absent, pods of all namespaces may use this policy."""
    preset: Preset = "Default"
    """A named set of fields. Fields that this spec sets take precedence over fields of the preset.
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
    """Weights of scores, 0 to 100, by plugin name. 0 turns the score of a plugin off. Any other weight turns the score
    on. A plugin without an entry has the weight of the preset, or its default weight."""
    resources: ResourcesSection = ResourcesSection()
    """Ranks nodes by the use of their resources."""
    instance_types: InstanceTypesSection | None = None
    """Ranks nodes by instance type. {} uses the default scores. Default: the section of the preset, or no ranking."""
    lifecycle: LifecycleSection | None = None
    """Ranks nodes by lifecycle class: spot, on-demand or reserved. {} prefers spot nodes. Default: the section of the
    preset, or no ranking."""
    zones: ZonesSection | None = None
    """Spreads pods over zones, and ranks zones. {} prefers zones with fewer pods of the same workload. Default: the
    section of the preset, or only the default spreading of kube-scheduler."""
    gpu: GpuSection | None = None
    """Keeps GPU nodes for pods that request GPUs, and ranks these nodes. {} avoids GPU nodes for other pods, and packs
    GPU nodes. Default: the section of the preset, or no difference between GPUs and other resources."""
    scarcity: ScarcitySection | None = None
    """Ranks nodes so that the next pods can use the free amounts of scarce resources. Default: no such ranking. The
    value LeastFragmentation of gpu.podsWithGpu ranks nodes in this way, too."""
    extenders: Annotated[
        tuple[PolicyExtender, ...], ListOf, Field(max_length=EXTENDERS, json_schema_extra=list_type("atomic"))
    ] = ()
    """Extenders: web services that the scheduler calls after its plugins. The scheduler first calls the extenders of
    the operator's configuration, then these extenders in their order. It calls ignorable extenders last."""
    preemption: PreemptionSection = PreemptionSection()
    """Eviction of pods with lower priority, to make room for a pod that fits on no node."""
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percentage of all nodes, 0 to 100. The scheduler stops its search for nodes that fit when it has found this share
    of all nodes, and at least 100. 0 means 50 percent in small clusters, falling to 5 percent in large clusters.
    Default: 100 if the policy packs nodes or has one of the sections instanceTypes, lifecycle, zones, gpu and scarcity;
    otherwise the value of the operator's configuration."""
    backoff: BackoffSection | None = None
    """Waiting time after a failed scheduling attempt. Default: the times of the operator's configuration."""
    plugins: Plugins = Plugins()
    """Plugins to enable or disable at each extension point, as in a KubeSchedulerConfiguration. This field takes
    precedence over the plugins that other fields enable."""
    plugin_config: Annotated[
        tuple[PluginConfig, ...], ListOf, Field(max_length=PLUGIN_CONFIGS, json_schema_extra=map_list("name"))
    ] = ()
    """Arguments of plugins, as in a KubeSchedulerConfiguration. They take precedence over the arguments that other
    fields set."""
