"""The arguments of NodeAffinity: a `v1.NodeAffinity`, validated by the rules of kube-scheduler.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go, ValidateNodeAffinityArgs;
component-helpers/scheduling/corev1/nodeaffinity, apimachinery/pkg/labels NewRequirement.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import LABEL_VALUE_LENGTH, ApiModel, ListOf, QualifiedName, Rule
from moorage.model.pods.affinity import NodeAffinityTerms
from moorage.model.selectors import (
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    parse_int64,
)

LabelValueOrEmpty = Annotated[
    str, Field(max_length=LABEL_VALUE_LENGTH, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")
]


class LabelRequirementArgs(ApiModel):
    """A requirement in `matchExpressions`."""

    rules = (
        Rule(
            holds=lambda each: each.operator not in {"In", "NotIn"} or bool(each.values),
            message="In and NotIn need at least one value",
            field="values",
        ),
        Rule(
            holds=lambda each: each.operator not in {"Exists", "DoesNotExist"} or not each.values,
            message="Exists and DoesNotExist take no values",
            field="values",
        ),
        Rule(
            holds=lambda each: (
                each.operator not in {"Gt", "Lt"} or (len(each.values) == 1 and parse_int64(each.values[0]) is not None)
            ),
            message="Gt and Lt need exactly one value, a whole number",
            field="values",
        ),
    )

    key: QualifiedName
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """The relation between the label's value and `values`."""
    values: Annotated[tuple[LabelValueOrEmpty, ...], ListOf] = ()
    """At least one value for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt."""


class FieldRequirementArgs(ApiModel):
    """A requirement in `matchFields`."""

    key: Literal["metadata.name"]
    """The field; only metadata.name is supported."""
    operator: Literal["In", "NotIn"]
    """Whether the node's name must equal the value (In) or differ from it (NotIn)."""
    values: Annotated[tuple[str, ...], ListOf, Field(min_length=1, max_length=1)]
    """The name of one node."""


class NodeSelectorTermArgs(ApiModel):
    """A term: a node must meet all its requirements. A term without requirements matches no node."""

    match_expressions: Annotated[tuple[LabelRequirementArgs, ...], ListOf] = ()
    """Requirements on the node's labels."""
    match_fields: Annotated[tuple[FieldRequirementArgs, ...], ListOf] = ()
    """Requirements on the node's name."""

    def decode(self) -> NodeSelectorTerm:
        """Return the term as a value of `moorage.model`."""
        return NodeSelectorTerm(
            expressions=tuple(Requirement(r.key, r.operator, frozenset(r.values)) for r in self.match_expressions),
            fields=tuple(Requirement(r.key, r.operator, frozenset(r.values)) for r in self.match_fields),
        )


class NodeSelectorArgs(ApiModel):
    """Terms; a node must match at least one of them."""

    node_selector_terms: Annotated[tuple[NodeSelectorTermArgs, ...], ListOf]
    """The terms; an empty list matches no node."""


class PreferredSchedulingTermArgs(ApiModel):
    """A preferred term and its weight."""

    weight: int
    """The weight that a matching node adds to its score; 0 disables the term."""
    preference: NodeSelectorTermArgs
    """The term to match."""


class AddedAffinity(ApiModel):
    """A node affinity that applies to all pods of the profile, in addition to their own."""

    required_during_scheduling_ignored_during_execution: NodeSelectorArgs | None = None
    """The terms that nodes must match."""
    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredSchedulingTermArgs, ...], ListOf
    ] = ()
    """The terms that raise the score of matching nodes."""

    def decode(self) -> NodeAffinityTerms:
        """Return the affinity as a value of `moorage.model`."""
        required = self.required_during_scheduling_ignored_during_execution
        return NodeAffinityTerms(
            NodeSelector(tuple(term.decode() for term in required.node_selector_terms)) if required else None,
            tuple(
                PreferredSchedulingTerm(preferred.weight, preferred.preference.decode())
                for preferred in self.preferred_during_scheduling_ignored_during_execution
            ),
        )
