"""Sections of the spec that rank nodes: resource use, instance types, lifecycle, zones and GPUs.

The sections are also the arguments of the plugins that they configure. The API server writes defaults into the object.
There, a default looks like a value of the user, which would override the preset. So a field that a preset can set has
no default here, or a default that is equal to the preset's value.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, QualifiedName, Rule, Score, Weight, WithoutNulls, list_type
from moorage.api.policy_filters import InstanceTypePattern
from moorage.errors import Location

SHAPE_POINTS = 20
TABLE_ROWS = 128
LIFECYCLE_SOURCES = 16
LIFECYCLE_VALUES = 16
GPU_RESOURCES = 16
SCARCE_RESOURCES = 16
MAX_SKEW = 1000
"""The maximum of `maxSkew`. In practice, a larger value would have no effect."""

_SHAPE_PAIRS = list(range(SHAPE_POINTS - 1))


class UtilizationShapePoint(ApiModel):
    """A point of the function from the utilization of a resource to a score."""

    utilization: Annotated[int, Field(ge=0, le=100)]
    """Percentage of the node's resource that pods request, 0 to 100. The requests include the pod to schedule."""
    score: Score
    """Score at this utilization, 0 to 10. Scores between two points are interpolated linearly."""


def falling_points(shape: tuple[UtilizationShapePoint, ...]) -> list[Location]:
    """Return the locations of utilizations that are not above the utilization of the previous point."""
    return [
        ("shape", index, "utilization")
        for index, (left, right) in enumerate(pairwise(shape), start=1)
        if left.utilization >= right.utilization
    ]


class ResourcesSection(ApiModel):
    """Ranking of nodes by the use of their resources: arguments of the plugin NodeResourcesFit."""

    rules = (
        Rule(
            cel=(
                "(has(self.shape) && self.shape.size() > 0) == "
                "(has(self.strategy) && self.strategy == 'RequestedToCapacityRatio')"
            ),
            holds=lambda resources: bool(resources.shape) == (resources.strategy == "RequestedToCapacityRatio"),
            message="RequestedToCapacityRatio needs a shape, and no other strategy takes one",
            field="shape",
        ),
        Rule(
            # The rule compares by index, because isSorted of Kubernetes' CEL library accepts equal neighbours.
            cel=(
                f"!has(self.shape) || {_SHAPE_PAIRS}.all(i, i + 1 >= self.shape.size() || "
                "self.shape[i].utilization < self.shape[i + 1].utilization)"
            ),
            holds=lambda resources: not falling_points(resources.shape),
            message="utilization must increase strictly from point to point",
            field="shape",
            locate=lambda resources: falling_points(resources.shape),
        ),
    )

    strategy: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] | None = None
    """LeastAllocated prefers nodes with more free resources. MostAllocated prefers nodes with fewer free resources.
    RequestedToCapacityRatio uses `shape`. Default: the strategy of the preset, or LeastAllocated."""
    weights: Annotated[dict[str, Weight], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """Weight of each resource in the score, 0 to 100, by resource name. 0 ignores the resource. Default: the weights of
    the preset, or cpu 1 and memory 1."""
    shape: Annotated[
        tuple[UtilizationShapePoint, ...],
        ListOf,
        Field(max_length=SHAPE_POINTS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Points of the function for RequestedToCapacityRatio, with strictly increasing utilization. Required for this
    strategy, and not allowed for other strategies."""


class InstanceTypeScore(ApiModel):
    """The score of the instance types that match a pattern."""

    match: InstanceTypePattern
    """Shell pattern for the label `node.kubernetes.io/instance-type`, such as `c5*`."""
    score: Score
    """Score of matching nodes, 0 to 10."""


class InstanceTypesSection(ApiModel):
    """Ranking of nodes by instance type: arguments of the plugin InstanceType."""

    scores: Annotated[
        tuple[InstanceTypeScore, ...], ListOf, Field(max_length=TABLE_ROWS, json_schema_extra=list_type("atomic"))
    ] = (
        InstanceTypeScore(match="c5*", score=10),
        InstanceTypeScore(match="m5*", score=5),
        InstanceTypeScore(match="r5*", score=3),
    )
    """Scores of instance types. The first entry that matches a node's instance type gives the node's score."""
    default: Score = 1
    """Score of nodes that match no entry of `scores`, or have no instance type, 0 to 10."""


class LifecycleSource(ApiModel):
    """A node label that gives the lifecycle class, and its values for each class. Values are not case-sensitive."""

    rules = (
        Rule(
            cel=(
                "(has(self.spot) && self.spot.size() > 0) || (has(self.onDemand) && self.onDemand.size() > 0) || "
                "(has(self.reserved) && self.reserved.size() > 0)"
            ),
            holds=lambda source: bool(source.spot or source.on_demand or source.reserved),
            message="a source needs values for at least one of spot, onDemand and reserved",
            reason="FieldValueRequired",
        ),
    )

    key: QualifiedName
    """Key of the node label."""
    spot: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values for spot nodes."""
    on_demand: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values for on-demand nodes."""
    reserved: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values for reserved nodes."""


class LifecycleSection(ApiModel):
    """Ranking of nodes by lifecycle class (spot, on-demand, reserved): arguments of the plugin Lifecycle."""

    prefer: Literal["spot", "on-demand", "none"] = "spot"
    """Preferred class of nodes for pods that ask for no class. On a scale of 0 to 10, nodes of the preferred class
    score 8, and all other nodes score 5. With none, all nodes score 5."""
    pod_label: QualifiedName = "lifecycle-preference"
    """Key of the pod label that asks for a class: spot, on-demand or reserved. On a scale of 0 to 10, nodes of that
    class score 10, nodes of other classes score 1, and nodes of unknown class score 5."""
    sources: Annotated[
        tuple[LifecycleSource, ...], ListOf, Field(max_length=LIFECYCLE_SOURCES, json_schema_extra=list_type("atomic"))
    ] = ()
    """Node labels that give the class. The first entry that matches a label of the node decides. If no entry matches,
    the class is unknown. Default: the labels of EKS, Karpenter, GKE and AKS, and node.kubernetes.io/lifecycle."""


class ZonesSection(ApiModel):
    """Spreading of pods over zones, and ranking of zones: arguments of the plugin ZoneSpread."""

    spread: Literal["Ignore", "Prefer", "Require"] = "Prefer"
    """Prefer ranks zones with fewer pods higher. Require also ranks these zones higher, and excludes zones that would
    exceed `maxSkew`. Ignore does neither."""
    scope: Literal["Workload", "Namespace"] = "Workload"
    """Pods to spread. Workload spreads pods with the same owner and revision, but no pods without an owner. Namespace
    spreads all pods of the namespace."""
    max_skew: Annotated[int, Field(ge=1, le=MAX_SKEW)] = 1
    """Maximum difference between the pods in a zone and the pods in the emptiest zone, 1 to 1000. Only for Require."""
    honor_unschedulable: bool = False
    """Whether `maxSkew` ignores zones whose nodes are all cordoned. Only for Require. If false, cordoned zones count,
    so pods wait and do not crowd the other zones, as with nodeTaintsPolicy: Ignore, the default of kube-scheduler. If
    true, pods go to the other zones, as with nodeTaintsPolicy: Honor. If all nodes of a zone have another taint that a
    pod does not tolerate, `maxSkew` always ignores the zone."""
    prefer: Annotated[dict[str, Score], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """Scores of zones, 0 to 10, by value of the label `topology.kubernetes.io/zone`. Other zones score 0. If pods are
    also spread, the score of a node is the mean of this score and the score for spreading."""


class GpuSection(ApiModel):
    """Reservation of GPU nodes for pods that request GPUs, and ranking of these nodes: arguments of the plugin Gpu."""

    resources: Annotated[
        tuple[QualifiedName, ...],
        ListOf,
        Field(min_length=1, max_length=GPU_RESOURCES, json_schema_extra=list_type("set")),
    ] = ("nvidia.com/gpu", "amd.com/gpu")
    """Names of the resources that count as GPUs."""
    pods_without_gpu: Literal["Avoid", "Forbid", "Ignore"] = "Avoid"
    """Use of GPU nodes for pods that request no GPU. With Avoid, GPU nodes score 1 and other nodes score 5, on a scale
    of 0 to 10. With Forbid, these pods do not run on GPU nodes. With Ignore, all nodes score 5."""
    pods_with_gpu: Literal["Pack", "Spread", "LeastFragmentation", "Ignore"] = "Pack"
    """Use of GPU nodes for pods that request GPUs. Pack prefers nodes with fewer free GPUs. Spread prefers nodes with
    more free GPUs. LeastFragmentation keeps free GPUs usable for the next pods, because it adds `resources` to
    `scarcity.resources`. Ignore has no preference."""
    models: Annotated[dict[str, Score], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """Scores of GPU models, 0 to 10, by value of the node label `nvidia.com/gpu.product`. For nodes whose model has an
    entry, this score replaces the score by `podsWithGpu`."""


class ScarcitySection(ApiModel):
    """Ranking of nodes by how well the next pods can use the free resources: arguments of the plugin Scarcity."""

    resources: Annotated[
        tuple[QualifiedName, ...],
        ListOf,
        Field(min_length=1, max_length=SCARCE_RESOURCES, json_schema_extra=list_type("set")),
    ]
    """Names of scarce resources, such as nvidia.com/gpu. The scheduler learns which pods usually come. It prefers the
    node on which the free amount that these pods cannot use grows least. A pod cannot use a free amount if the node
    lacks another resource that the pod requests, or if the pod's node selector excludes the node."""
