"""`spec.allowedNamespaces`: a selector for namespaces, as metav1.LabelSelector."""

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.base import ApiModel, ListOf, QualifiedName, WithoutNulls, list_type
from moorage.api.policy_filters import EXPRESSIONS, VALUES, NodeLabelRequirement

NamespaceLabelValue = Annotated[str, Field(max_length=63)]


class NamespaceLabelRequirement(ApiModel):
    """A requirement for one label of a namespace, as metav1.LabelSelectorRequirement."""

    rules = NodeLabelRequirement.rules

    key: QualifiedName
    """Key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """Comparison of the label's value with `values`. NotIn and DoesNotExist also match namespaces without the label."""
    values: (
        Annotated[
            tuple[NamespaceLabelValue, ...],
            ListOf,
            Field(max_length=VALUES, json_schema_extra=list_type("atomic")),
        ]
        | None
    ) = None
    """Values for In and NotIn. Exists and DoesNotExist take none."""


class NamespaceSelector(ApiModel):
    """A selector for labels of namespaces, as metav1.LabelSelector. A namespace must match all parts.

    An empty selector matches every namespace.
    """

    match_labels: Annotated[dict[str, NamespaceLabelValue], WithoutNulls] = Field(
        default_factory=dict, max_length=VALUES
    )
    """Values that labels of the namespace must have, by label key. The label kubernetes.io/metadata.name contains the
    name of the namespace."""
    match_expressions: Annotated[
        tuple[NamespaceLabelRequirement, ...],
        ListOf,
        Field(max_length=EXPRESSIONS, json_schema_extra=list_type("atomic")),
    ] = ()
    """Requirements for labels of the namespace."""
