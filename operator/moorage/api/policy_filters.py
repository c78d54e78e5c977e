"""`spec.filters`: which nodes the pods of a policy may run on."""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, QualifiedName, Rule, WithoutNulls, list_type

LifecycleClass = Literal["spot", "on-demand", "reserved", "unknown"]
"""Billing class of a node, which affects the node's lifetime. Nodes without a known label are `unknown`."""

_PATTERN_CHARACTERS = frozenset("*?[")

EXPRESSIONS = 32
VALUES = 64
PATTERNS = 128

InstanceTypePattern = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[-A-Za-z0-9._*?\[\]!]+$")]
"""A shell pattern for the label `node.kubernetes.io/instance-type`, with `*`, `?` and `[...]`, as in `c5*`."""


def is_pattern(instance_type: str) -> bool:
    """Return whether an entry is a shell pattern, and not the exact name of an instance type."""
    return not _PATTERN_CHARACTERS.isdisjoint(instance_type)


PatternList = Annotated[
    tuple[InstanceTypePattern, ...], ListOf, Field(max_length=PATTERNS, json_schema_extra=list_type("set"))
]
ZoneList = Annotated[tuple[LabelValue, ...], ListOf, Field(max_length=VALUES, json_schema_extra=list_type("set"))]


class NodeLabelRequirement(ApiModel):
    """A requirement for one label of a node, as metav1.LabelSelectorRequirement."""

    rules = (
        Rule(
            cel="(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            holds=lambda expression: (expression.operator in {"In", "NotIn"}) == bool(expression.values),
            message="In and NotIn need values, Exists and DoesNotExist take none",
            field="values",
        ),
    )

    key: QualifiedName
    """Key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """Comparison of the label's value with `values`. NotIn and DoesNotExist also match nodes without the label."""
    values: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        ListOf,
        Field(max_length=VALUES, json_schema_extra=list_type("atomic")),
    ] = ()
    """Values for In and NotIn. Exists and DoesNotExist take none."""


class NodeLabelSelector(ApiModel):
    """A selector for node labels, as metav1.LabelSelector. A node must match all parts. If empty, all nodes match."""

    match_labels: Annotated[dict[str, Annotated[str, Field(max_length=63)]], WithoutNulls] = Field(
        default_factory=dict, max_length=VALUES
    )
    """Values that labels of the node must have, by label key."""
    match_expressions: Annotated[
        tuple[NodeLabelRequirement, ...],
        ListOf,
        Field(max_length=EXPRESSIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Requirements for labels of the node."""


class InstanceTypeFilter(ApiModel):
    """Allowed and denied instance types."""

    allow: PatternList = ()
    """Shell patterns for the label `node.kubernetes.io/instance-type`, such as `c5*`. A node must match one of them.
    If empty, all instance types are allowed."""
    deny: PatternList = ()
    """Shell patterns for the label `node.kubernetes.io/instance-type`. A node must match none of them. `deny` takes
    precedence over `allow`."""


class ZoneFilter(ApiModel):
    """Allowed and denied zones."""

    allow: ZoneList = ()
    """Values of the label `topology.kubernetes.io/zone`. A node must be in one of these zones. If empty, all zones
    are allowed."""
    deny: ZoneList = ()
    """Values of the label `topology.kubernetes.io/zone`. A node must be in none of these zones. `deny` takes precedence
    over `allow`."""


class FiltersSection(ApiModel):
    """Requirements for nodes. A node must meet all of them."""

    node_selector: NodeLabelSelector | None = Field(default=None, json_schema_extra={"x-kubernetes-map-type": "atomic"})
    """Selector that the labels of a node must match. If absent, all labels are allowed."""
    instance_types: InstanceTypeFilter | None = None
    """Allowed and denied instance types. If absent, all are allowed."""
    zones: ZoneFilter | None = None
    """Allowed and denied zones. If absent, all are allowed."""
    lifecycles: Annotated[
        tuple[LifecycleClass, ...], ListOf, Field(max_length=4, json_schema_extra=list_type("set"))
    ] = ()
    """Allowed lifecycle classes. The labels in `spec.lifecycle.sources` give the class of a node. If no label matches,
    the class is unknown. If this list is empty, all classes are allowed."""
    serverless_nodes: Literal["Exclude", "Allow"] = "Exclude"
    """Whether pods may run on Fargate and virtual-kubelet nodes. A pod that a scheduler binds to such a node rarely
    starts. kube-scheduler's default profile allows these nodes."""
