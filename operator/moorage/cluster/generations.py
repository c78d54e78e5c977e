"""Counters that say whether something changed since it was last looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Generations:
    """One counter a subject; only ever counted up, and only by the columns."""

    nodes: int = 0
    """The set of nodes; labels, taints, cordons, allocatable amounts and features of any node."""
    pods: int = 0
    """Pods placed on nodes, and taken off."""
    images: int = 0
    """Images on nodes."""
    namespaces: int = 0
    """Namespaces and their labels."""
    objects: int = 0
    """Any other object that plugins look up."""
