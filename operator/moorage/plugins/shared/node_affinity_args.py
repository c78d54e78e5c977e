"""The arguments of NodeAffinity: a `v1.NodeAffinity`, checked as strictly as kube-scheduler checks it.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go, ValidateNodeAffinityArgs, and what it calls:
component-helpers/scheduling/corev1/nodeaffinity, apimachinery/pkg/labels NewRequirement.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from moorage.api.base import LABEL_VALUE_LENGTH, ApiModel, ListOf, QualifiedName
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
    """One of `matchExpressions`."""

    key: QualifiedName
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label's value relates to `values`."""
    values: Annotated[tuple[LabelValueOrEmpty, ...], ListOf] = ()
    """At least one for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt."""

    @model_validator(mode="after")
    def _values_suit_operator(self) -> Self:
        if self.operator in {"In", "NotIn"} and not self.values:
            raise ValueError(f"values: {self.operator} needs at least one value")
        if self.operator in {"Exists", "DoesNotExist"} and self.values:
            raise ValueError(f"values: {self.operator} takes no values")
        if self.operator in {"Gt", "Lt"} and (len(self.values) != 1 or parse_int64(self.values[0]) is None):
            raise ValueError(f"values: {self.operator} needs exactly one value, a whole number")
        return self


class FieldRequirementArgs(ApiModel):
    """One of `matchFields`."""

    key: Literal["metadata.name"]
    """The field; there is only one."""
    operator: Literal["In", "NotIn"]
    """Whether the node's name has to be the value, or must not be."""
    values: Annotated[tuple[str, ...], ListOf, Field(min_length=1, max_length=1)]
    """The name of one node."""


class NodeSelectorTermArgs(ApiModel):
    """Requirements that must all hold; without any, the term matches no node."""

    match_expressions: Annotated[tuple[LabelRequirementArgs, ...], ListOf] = ()
    """Requirements on the node's labels."""
    match_fields: Annotated[tuple[FieldRequirementArgs, ...], ListOf] = ()
    """Requirements on the node's name."""

    def digest(self) -> NodeSelectorTerm:
        """Return the term as the plugin reads it."""
        return NodeSelectorTerm(
            expressions=tuple(Requirement(r.key, r.operator, frozenset(r.values)) for r in self.match_expressions),
            fields=tuple(Requirement(r.key, r.operator, frozenset(r.values)) for r in self.match_fields),
        )


class NodeSelectorArgs(ApiModel):
    """Terms of which one must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTermArgs, ...], ListOf]
    """The terms; without any, no node fits."""


class PreferredSchedulingTermArgs(ApiModel):
    """A term that nodes gain by."""

    weight: int
    """What a matching node gains; 0 switches the term off."""
    preference: NodeSelectorTermArgs
    """The term."""


class AddedAffinity(ApiModel):
    """A node affinity that every pod of the profile has, besides its own."""

    required_during_scheduling_ignored_during_execution: NodeSelectorArgs | None = None
    """What nodes must meet."""
    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredSchedulingTermArgs, ...], ListOf
    ] = ()
    """What nodes gain by."""

    def digest(self) -> NodeAffinityTerms:
        """Return the affinity as the plugin reads it."""
        required = self.required_during_scheduling_ignored_during_execution
        return NodeAffinityTerms(
            NodeSelector(tuple(term.digest() for term in required.node_selector_terms)) if required else None,
            tuple(
                PreferredSchedulingTerm(preferred.weight, preferred.preference.digest())
                for preferred in self.preferred_during_scheduling_ignored_during_execution
            ),
        )
