"""The node as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.resources import NO_RESOURCES, Resources


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """A node at one resourceVersion."""

    name: str
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    allocatable: Resources = NO_RESOURCES
    images: tuple[tuple[str, int], ...] = ()
    """Every name of every image on the node, with the image's size in bytes."""
    declared_features: frozenset[str] = frozenset()
    raw: bytes = b""
    """The object as it was received, for extenders without a node cache."""
