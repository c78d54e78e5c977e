"""The search space: the fields of a policy that a trial chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from moorage.api.v1alpha1 import API_VERSION, KIND
from moorage.simulator.file_objects import GPU
from moorage.simulator.node_file import FileNode

MAX_WEIGHT = 10
MAX_RESOURCE_WEIGHT = 5
UTILIZATIONS = (0, 50, 100)
"""The points of the shape of the strategy RequestedToCapacityRatio."""
MAX_SHAPE_SCORE = 10
RATIO = "RequestedToCapacityRatio"

Spec = dict[str, Any]


class Suggester(Protocol):
    """A trial of Optuna, or a fixed choice in tests."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        ...

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return one of the choices."""
        ...


class SpaceFacts(Struct, frozen=True):
    """The properties of nodes that decide which fields are searched."""

    has_gpus: bool
    has_zones: bool
    has_lifecycles: bool

    @classmethod
    def of(cls, nodes: Iterable[FileNode]) -> SpaceFacts:
        """Return the properties of the nodes of a simulation."""
        listed = list(nodes)
        return cls(
            any(node.gpu for node in listed),
            len({node.zone for node in listed}) > 1,
            len({node.lifecycle for node in listed}) > 1,
        )


def suggest_spec(trial: Suggester, base: Mapping[str, Any], facts: SpaceFacts) -> Spec:
    """Return the spec of a trial: the fields of `base`, with the searched fields replaced."""
    spec = dict(base)
    weights = dict(spec.get("weights") or {})
    spec["resources"] = _resources(trial, facts)
    for plugin in ("NodeResourcesFit", "NodeResourcesBalancedAllocation"):
        weights[plugin] = trial.suggest_int(f"weights.{plugin}", 0, MAX_WEIGHT)
    if facts.has_gpus:
        spec["gpu"] = {**(spec.get("gpu") or {}), "podsWithGpu": _gpu(trial, weights)}
        spec["pluginConfig"] = _plugin_config(trial, spec.get("pluginConfig") or ())
    if facts.has_zones:
        spread = trial.suggest_categorical("zones.spread", ["Ignore", "Prefer"])
        weights["ZoneSpread"] = trial.suggest_int("weights.ZoneSpread", 1, MAX_WEIGHT)
        spec["zones"] = {**(spec.get("zones") or {}), "spread": spread}
    if facts.has_lifecycles:
        prefer = trial.suggest_categorical("lifecycle.prefer", ["none", "spot", "on-demand"])
        weights["Lifecycle"] = trial.suggest_int("weights.Lifecycle", 1, MAX_WEIGHT)
        spec["lifecycle"] = {**(spec.get("lifecycle") or {}), "prefer": prefer}
    return {**spec, "weights": weights}


def known_choices(facts: SpaceFacts) -> list[dict[str, Any]]:
    """Return choices that are usually good. A search begins with them."""
    packing: dict[str, Any] = {"resources.strategy": "MostAllocated", "weights.NodeResourcesFit": 5}
    spreading: dict[str, Any] = {"resources.strategy": "LeastAllocated", "weights.NodeResourcesFit": 1}
    learning: dict[str, Any] = {"weights.NodeResourcesFit": 0, "weights.NodeResourcesBalancedAllocation": 0}
    balancing: dict[str, Any] = {"weights.NodeResourcesFit": 0, "weights.NodeResourcesBalancedAllocation": MAX_WEIGHT}
    if not facts.has_gpus:
        return [packing, spreading]
    return [
        packing,
        spreading,
        {**learning, "gpu.podsWithGpu": "LeastFragmentation", "weights.Scarcity": 5},
        {**balancing, "balance GPUs": True, "gpu.podsWithGpu": "Ignore"},
    ]


def manifest_of(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a SchedulingPolicy."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": dict(spec)}


def _resources(trial: Suggester, facts: SpaceFacts) -> Spec:
    strategy = trial.suggest_categorical("resources.strategy", ["LeastAllocated", "MostAllocated", RATIO])
    names = ("cpu", "memory", *((GPU,) if facts.has_gpus else ()))
    weights = {name: trial.suggest_int(f"resources.weights.{name}", 0, MAX_RESOURCE_WEIGHT) for name in names}
    resources: Spec = {"strategy": strategy, "weights": weights if any(weights.values()) else {"cpu": 1, "memory": 1}}
    if strategy == RATIO:
        resources["shape"] = [
            {"utilization": each, "score": trial.suggest_int(f"resources.shape.{each}", 0, MAX_SHAPE_SCORE)}
            for each in UTILIZATIONS
        ]
    return resources


def _gpu(trial: Suggester, weights: dict[str, int]) -> str:
    use: str = trial.suggest_categorical("gpu.podsWithGpu", ["Pack", "Spread", "LeastFragmentation", "Ignore"])
    weights["Gpu"] = trial.suggest_int("weights.Gpu", 1, MAX_WEIGHT)
    if use == "LeastFragmentation":
        weights["Scarcity"] = trial.suggest_int("weights.Scarcity", 1, MAX_WEIGHT)
    return use


def _plugin_config(trial: Suggester, written: Iterable[Any]) -> list[Any]:
    """Let NodeResourcesBalancedAllocation also count GPUs if the trial chooses this."""
    plugin = "NodeResourcesBalancedAllocation"
    others = [each for each in written if each.get("name") != plugin]
    if not trial.suggest_categorical("balance GPUs", [False, True]):
        return others
    resources = [{"name": name} for name in ("cpu", "memory", GPU)]
    return [*others, {"name": plugin, "args": {"resources": resources}}]
