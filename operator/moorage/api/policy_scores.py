"""What a policy prefers: resource use, instance types, lifecycle, zones, GPUs. Tables score 0 to 10.

A field that a preset may set has no default here, or the preset's own: the API server writes defaults into the object,
and a default could then not be told from what the user wrote.
"""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, QualifiedName, Rule, Score, Weight, WithoutNulls, list_type
from moorage.api.policy_filters import InstanceTypePattern

SHAPE_POINTS = 20
TABLE_ROWS = 128
LIFECYCLE_SOURCES = 16
LIFECYCLE_VALUES = 16
GPU_RESOURCES = 16
MAX_SKEW = 1000
"""More pods than this in one zone beyond another is no spreading."""

_SHAPE_PAIRS = list(range(SHAPE_POINTS - 1))


class UtilizationShapePoint(ApiModel):
    """One point of the function that turns a resource's use into a score."""

    utilization: Annotated[int, Field(ge=0, le=100)]
    """Percent of the resource that is requested once the pod is there."""
    score: Score
    """The score at that utilization, 0 to 10; between points it runs straight."""


class ResourcesSection(ApiModel):
    """How much of a node's resources should be in use: the arguments of NodeResourcesFit."""

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
            # Index by index: CEL's isSorted is Kubernetes' own, and cannot say "strictly".
            cel=(
                f"!has(self.shape) || {_SHAPE_PAIRS}.all(i, i + 1 >= self.shape.size() || "
                "self.shape[i].utilization < self.shape[i + 1].utilization)"
            ),
            holds=lambda resources: all(
                left.utilization < right.utilization
                for left, right in zip(resources.shape, resources.shape[1:], strict=False)
            ),
            message="utilization must increase strictly from point to point",
            field="shape",
        ),
    )

    strategy: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] | None = None
    """LeastAllocated spreads, MostAllocated packs, RequestedToCapacityRatio follows `shape`. Absent: as the preset
    says, else LeastAllocated."""
    weights: Annotated[dict[str, Weight], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """How much each resource counts, 0 to 100; 0 leaves it out. Empty: as the preset says, else cpu 1 and memory 1."""
    shape: Annotated[
        tuple[UtilizationShapePoint, ...],
        ListOf,
        Field(max_length=SHAPE_POINTS, json_schema_extra=list_type("atomic")),
    ] = ()
    """The function of RequestedToCapacityRatio, by strictly increasing utilization."""


class InstanceTypeScore(ApiModel):
    """A row of the table of instance types."""

    match: InstanceTypePattern
    """A shell pattern over `node.kubernetes.io/instance-type`, such as `c5*`."""
    score: Score
    """The score of nodes that match, 0 to 10."""


class InstanceTypesSection(ApiModel):
    """Ranks nodes by their instance type."""

    scores: Annotated[
        tuple[InstanceTypeScore, ...], ListOf, Field(max_length=TABLE_ROWS, json_schema_extra=list_type("atomic"))
    ] = (
        InstanceTypeScore(match="c5*", score=10),
        InstanceTypeScore(match="m5*", score=5),
        InstanceTypeScore(match="r5*", score=3),
    )
    """The table; the first row that matches decides. Absent: `c5*` 10, `m5*` 5, `r5*` 3."""
    default: Score = 1
    """The score of nodes that no row matches, or that have no instance type; 1 by default."""


class LifecycleSource(ApiModel):
    """A node label that tells the lifecycle, and what its values mean, in any case."""

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
    """The node label."""
    spot: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values that mean a spot node."""
    on_demand: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values that mean an on-demand node."""
    reserved: Annotated[
        tuple[LabelValue, ...], ListOf, Field(max_length=LIFECYCLE_VALUES, json_schema_extra=list_type("set"))
    ] = ()
    """Values that mean reserved capacity."""


class LifecycleSection(ApiModel):
    """Ranks nodes by whether they are spot, on-demand or reserved."""

    prefer: Literal["spot", "on-demand", "none"] = "spot"
    """The class that pods which do not ask for one prefer: its nodes score 8, others 5. none: all score 5. spot by
    default."""
    pod_label: QualifiedName = "lifecycle-preference"
    """The pod label that asks for a class (spot, on-demand, reserved): its nodes score 10, others 1.
    lifecycle-preference by default."""
    sources: Annotated[
        tuple[LifecycleSource, ...], ListOf, Field(max_length=LIFECYCLE_SOURCES, json_schema_extra=list_type("atomic"))
    ] = ()
    """Node labels that tell the class; the first that a node has decides. Empty: the labels of EKS, Karpenter, GKE and
    AKS, and node.kubernetes.io/lifecycle."""


class ZonesSection(ApiModel):
    """Spreads pods over zones, and prefers some zones."""

    spread: Literal["Ignore", "Prefer", "Require"] = "Prefer"
    """Prefer ranks zones with fewer pods higher, Require refuses those beyond maxSkew as well, Ignore does neither.
    Prefer by default."""
    scope: Literal["Workload", "Namespace"] = "Workload"
    """Which pods count: those of the same owner and revision (a pod without an owner is not spread), or all of the
    namespace. Workload by default."""
    max_skew: Annotated[int, Field(ge=1, le=MAX_SKEW)] = 1
    """How many more pods a zone may have than the emptiest one, with Require; 1 by default."""
    prefer: Annotated[dict[str, Score], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """Scores of zones, 0 to 10, by `topology.kubernetes.io/zone`; added to the score of the spreading."""


class GpuSection(ApiModel):
    """Keeps GPU nodes for the pods that need them, and ranks them for these."""

    resources: Annotated[
        tuple[QualifiedName, ...],
        ListOf,
        Field(min_length=1, max_length=GPU_RESOURCES, json_schema_extra=list_type("set")),
    ] = ("nvidia.com/gpu", "amd.com/gpu")
    """The resources that are GPUs; nvidia.com/gpu and amd.com/gpu by default."""
    pods_without_gpu: Literal["Avoid", "Forbid", "Ignore"] = "Avoid"
    """How pods that ask for no GPU treat GPU nodes: Avoid scores them 1 and others 5, Forbid refuses them, Ignore does
    neither. Avoid by default."""
    pods_with_gpu: Literal["Pack", "Spread", "Ignore"] = "Pack"
    """Whether pods that ask for GPUs prefer the fuller nodes, the emptier ones, or neither. Pack by default."""
    models: Annotated[dict[str, Score], WithoutNulls] = Field(default_factory=dict, max_length=TABLE_ROWS)
    """Scores of GPU models, 0 to 10, by the node label nvidia.com/gpu.product; they decide first."""
