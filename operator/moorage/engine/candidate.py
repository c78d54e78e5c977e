"""A candidate for preemption. The search for victims, the extenders and the outcomes use it.

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
