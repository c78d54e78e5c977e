"""Nodes and taints as the scheduler reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.model.resources import NO_RESOURCES, Resources


@dataclass(frozen=True, slots=True)
class Taint:
    """A `v1.Taint`."""

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
    """Pairs of an image name and the image's size in bytes; an image with several names has one pair for each."""
    declared_features: frozenset[str] = frozenset()
    raw: bytes = b""
    """The JSON of the object, for extenders that do not cache nodes; otherwise empty."""


def scheduling_properties_differ(old: Node, new: Node) -> bool:
    """Return whether two versions of a node differ in a property that scheduling reads, other than images.

    Upstream: `pkg/scheduler/framework/events.go`, NodeSchedulingPropertiesChange.
    """
    return (
        old.labels != new.labels
        or old.taints != new.taints
        or old.unschedulable != new.unschedulable
        or old.allocatable != new.allocatable
        or old.declared_features != new.declared_features
    )
