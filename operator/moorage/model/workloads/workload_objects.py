"""Objects that select, own or protect pods, and Namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A `v1.Service`; a Service without a selector selects no pods."""

    namespace: str
    name: str
    selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A ReplicationController, ReplicaSet or StatefulSet."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A `v1.Namespace`."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisruptionBudget:
    """A `policy/v1.PodDisruptionBudget`."""

    namespace: str
    name: str
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    """Number of selected pods that may still be disrupted now."""
    disrupted_pods: frozenset[str] = frozenset()
    """Names of the pods whose eviction is approved and that are not deleted yet."""
