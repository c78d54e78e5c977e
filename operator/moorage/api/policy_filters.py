"""The hard rules of a policy: `spec.filters`, which nodes its pods may run on at all."""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, LabelValue, ListOf, QualifiedName, Rule, WithoutNulls, list_type

LifecycleClass = Literal["spot", "on-demand", "reserved", "unknown"]
"""How a node is paid for, and so how long it may live; unknown: none of the known labels says."""

_PATTERN_CHARACTERS = frozenset("*?[")

EXPRESSIONS = 32
VALUES = 64
PATTERNS = 128

InstanceTypePattern = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[-A-Za-z0-9._*?\[\]!]+$")]
"""A shell pattern over `node.kubernetes.io/instance-type`: `*`, `?` and `[...]`, as in `c5*`."""


def is_pattern(instance_type: str) -> bool:
    """Return whether an entry is a shell pattern, and not the exact name of an instance type."""
    return not _PATTERN_CHARACTERS.isdisjoint(instance_type)


PatternList = Annotated[
    tuple[InstanceTypePattern, ...], ListOf, Field(max_length=PATTERNS, json_schema_extra=list_type("set"))
]
ZoneList = Annotated[tuple[LabelValue, ...], ListOf, Field(max_length=VALUES, json_schema_extra=list_type("set"))]


class NodeLabelRequirement(ApiModel):
    """A condition on one label."""

    rules = (
        Rule(
            cel="(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            holds=lambda expression: (expression.operator in {"In", "NotIn"}) == bool(expression.values),
            message="In and NotIn need values, Exists and DoesNotExist take none",
            field="values",
        ),
    )

    key: QualifiedName
    """The label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared. NotIn and DoesNotExist hold where the label is absent."""
    values: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        ListOf,
        Field(max_length=VALUES, json_schema_extra=list_type("atomic")),
    ] = ()
    """The values of In and NotIn."""


class NodeLabelSelector(ApiModel):
    """A selector over labels, as metav1.LabelSelector: all its parts must hold; an empty one matches everything."""

    match_labels: Annotated[dict[str, Annotated[str, Field(max_length=63)]], WithoutNulls] = Field(
        default_factory=dict, max_length=VALUES
    )
    """Labels with the values that they must have."""
    match_expressions: Annotated[
        tuple[NodeLabelRequirement, ...],
        ListOf,
        Field(max_length=EXPRESSIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Conditions on labels."""


class InstanceTypeFilter(ApiModel):
    """Which instance types are allowed."""

    allow: PatternList = ()
    """Shell patterns over `node.kubernetes.io/instance-type`; a node must match one. Empty: every node may."""
    deny: PatternList = ()
    """Shell patterns; a node that matches one is refused, also when `allow` names it."""


class ZoneFilter(ApiModel):
    """Which zones are allowed."""

    allow: ZoneList = ()
    """Zones, by `topology.kubernetes.io/zone`; a node must be in one. Empty: every node may."""
    deny: ZoneList = ()
    """Zones whose nodes are refused, also when `allow` names them."""


class FiltersSection(ApiModel):
    """Hard rules; a node must pass all of them."""

    node_selector: NodeLabelSelector | None = Field(default=None, json_schema_extra={"x-kubernetes-map-type": "atomic"})
    """A selector that nodes' labels must match."""
    instance_types: InstanceTypeFilter | None = None
    """Instance types that are allowed or denied."""
    zones: ZoneFilter | None = None
    """Zones that are allowed or denied."""
    lifecycles: Annotated[
        tuple[LifecycleClass, ...], ListOf, Field(max_length=4, json_schema_extra=list_type("set"))
    ] = ()
    """Lifecycle classes that are allowed, told by the labels that `spec.lifecycle.sources` names. Empty: all."""
    serverless_nodes: Literal["Exclude", "Allow"] = "Exclude"
    """Whether Fargate and virtual-kubelet nodes may be chosen; a bind to them rarely works. Exclude by default, which
    is where an empty policy differs from kube-scheduler's default profile."""
