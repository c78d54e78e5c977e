"""Objects around pods: who selects them, who owns them, who protects them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A Service; without a selector it selects no pods."""

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
    """A Namespace."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisruptionBudget:
    """How many more pods of a selection may be disrupted now; `disrupted_pods` (names) are already on their way out."""

    namespace: str
    name: str
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()
