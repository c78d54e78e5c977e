"""Counters by which readers detect changes of the cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Generations:
    """One counter for each subject; only the columns increment them, and they never decrease."""

    nodes: int = 0
    """The set of nodes, and labels, taints, cordons, allocatable amounts and features of each node."""
    pods: int = 0
    """Pods placed on nodes or removed from them."""
    images: int = 0
    """Images on nodes."""
    namespaces: int = 0
    """Namespaces and their labels."""
    objects: int = 0
    """All other objects that plugins look up."""
