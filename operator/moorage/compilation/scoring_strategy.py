"""Compiles `spec.resources` to the arguments of NodeResourcesFit."""

from __future__ import annotations

from typing import Any

from moorage.api.policy_scores import ResourcesSection


def packs(resources: ResourcesSection) -> bool:
    """Return whether the strategy may prefer nodes with fewer free resources."""
    return resources.strategy in {"MostAllocated", "RequestedToCapacityRatio"}


def scoring_strategy(resources: ResourcesSection) -> dict[str, Any]:
    """Return the arguments with a `scoringStrategy`; empty if the section sets neither strategy nor weights."""
    if resources.strategy is None and not resources.weights:
        return {}
    strategy: dict[str, Any] = {"type": resources.strategy or "LeastAllocated"}
    weights = {name: weight for name, weight in resources.weights.items() if weight}
    if weights:
        strategy["resources"] = [{"name": name, "weight": weight} for name, weight in weights.items()]
    if resources.shape:
        shape = [point.model_dump(by_alias=True) for point in resources.shape]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    return {"scoringStrategy": strategy}
