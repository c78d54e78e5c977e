"""Services, controllers, Namespaces and budgets as the API server sends them: only the fields that scheduling reads."""

from __future__ import annotations

from msgspec import Raw, Struct

from moorage.model.api_metadata import ApiMetadata
from moorage.model.api_selectors import ApiLabelSelector


class ApiLabelsSpec(Struct, frozen=True):
    """The spec of a kind whose selector is a map of labels (Service, ReplicationController)."""

    selector: dict[str, str] | None = None


class ApiLabels(Struct, frozen=True):
    """A Service or a ReplicationController."""

    metadata: ApiMetadata
    spec: ApiLabelsSpec = ApiLabelsSpec()


class ApiSelectorSpec(Struct, frozen=True):
    """The spec of a kind whose selector is a `metav1.LabelSelector`."""

    selector: ApiLabelSelector | None = None


class ApiBudgetStatus(Struct, frozen=True, rename="camel"):
    """`policy/v1.PodDisruptionBudgetStatus`."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Raw] | None = None


class ApiSelector(Struct, frozen=True):
    """A ReplicaSet, a StatefulSet or a PodDisruptionBudget."""

    metadata: ApiMetadata
    spec: ApiSelectorSpec = ApiSelectorSpec()
    status: ApiBudgetStatus = ApiBudgetStatus()


class ApiMetadataOnly(Struct, frozen=True):
    """A Namespace."""

    metadata: ApiMetadata
