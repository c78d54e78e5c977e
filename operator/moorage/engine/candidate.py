"""A candidate for preemption: a value that the search for victims, extenders and outcomes share.

Upstream: pkg/scheduler/framework/preemption/preemption.go (Candidate).
"""

from dataclasses import dataclass

from moorage.model.pods.pod import Pod


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node and the pods to evict from it, the most important first."""

    node_name: str
    victims: tuple[Pod, ...]
    violations: int
    """The number of victims whose PodDisruptionBudget does not allow the eviction."""
