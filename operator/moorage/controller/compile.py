"""A policy as a profile: every field of `spec` becomes plugins, weights and arguments.

Pure, and in two steps: `expand_preset` fills in the preset, `compile_policy` writes the result as the `ProfileSpec`
that somebody could also have written by hand in a KubeSchedulerConfiguration. The registry builds it and validates the
plugins' arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.controller.added_affinity import added_affinity, is_pattern
from moorage.controller.presets import expand_preset
from moorage.framework.profile import PolicyReference, ProfileSettings, ProfileSpec

OWN_SCORES: Mapping[str, int] = {"InstanceType": 3, "Lifecycle": 5, "ZoneSpread": 2, "Gpu": 5}
"""Scores of our own and their default weights; each is in only where its section, or a weight, asks for it."""

PREPARED = frozenset({"ZoneSpread"})
"""Those of ours whose Filter and Score need their PreFilter and PreScore."""

ALL_NODES = 100
"""The percentage of nodes to score where a policy packs or prices: its best node must not be missed."""


def compile_policy(policy: SchedulingPolicy, defaults: ProfileSettings) -> ProfileSpec:
    """Write a policy as a profile; `defaults` are the process's, for what the policy leaves open."""
    spec = expand_preset(policy.spec)
    parts = _Parts(spec)
    metadata = policy.metadata
    return ProfileSpec(
        scheduler_name=policy.scheduler_name,
        plugins=parts.plugins(),
        plugin_config=parts.plugin_config(),
        settings=_settings(spec, defaults),
        policy=PolicyReference(metadata.name, metadata.uid, metadata.generation),
    )


def _settings(spec: SchedulingPolicySpec, defaults: ProfileSettings) -> ProfileSettings:
    backoff = spec.backoff
    percentage = spec.percentage_of_nodes_to_score
    if percentage is None:
        percentage = ALL_NODES if _packs_or_prices(spec) else defaults.percentage_of_nodes_to_score
    return replace(
        defaults,
        percentage_of_nodes_to_score=percentage,
        initial_backoff_seconds=(backoff and backoff.initial_seconds) or defaults.initial_backoff_seconds,
        max_backoff_seconds=(backoff and backoff.max_seconds) or defaults.max_backoff_seconds,
        paused=spec.paused,
        strict_preemption=spec.preemption.pdb_policy == "Strict",
        extenders=(*defaults.extenders, *spec.extenders),
    )


def _packs_or_prices(spec: SchedulingPolicySpec) -> bool:
    packs = spec.resources.strategy in {"MostAllocated", "RequestedToCapacityRatio"}
    return packs or any(section is not None for section in (spec.instance_types, spec.lifecycle, spec.zones, spec.gpu))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The plugins and arguments that one spec, preset included, stands for."""

    spec: SchedulingPolicySpec

    def plugins(self) -> Plugins:
        """Return ours first, then what the policy's own `plugins` add, point by point."""
        filters = tuple(PluginEntry(name=name) for name in self._filters())
        scores = tuple(PluginEntry(name=name, weight=weight) for name, weight in self._weights().items() if weight)
        ours = {
            "pre_filter": PluginSet(enabled=tuple(plugin for plugin in filters if plugin.name in PREPARED)),
            "filter": PluginSet(enabled=filters),
            "pre_score": PluginSet(
                enabled=tuple(PluginEntry(name=plugin.name) for plugin in scores if plugin.name in PREPARED)
            ),
            "score": PluginSet(
                enabled=scores,
                disabled=tuple(
                    PluginEntry(name=name)
                    for name, weight in self.spec.weights.items()
                    if weight == 0 and name not in OWN_SCORES
                ),
            ),
            "post_filter": PluginSet(
                disabled=() if self.spec.preemption.enabled else (PluginEntry(name="DefaultPreemption"),)
            ),
        }
        return self.spec.plugins.model_copy(
            update={point: _joined(plugins, getattr(self.spec.plugins, point)) for point, plugins in ours.items()}
        )

    def plugin_config(self) -> tuple[PluginConfig, ...]:
        """Return the arguments of every plugin that a section speaks of; the policy's own arguments win."""
        arguments = {name: args for name, args in self._arguments() if args}
        for config in self.spec.plugin_config:
            arguments[config.name] = {**arguments.get(config.name, {}), **config.args}
        affinity = added_affinity(self.spec.filters, arguments.get("NodeAffinity", {}).get("addedAffinity"))
        if affinity:
            arguments["NodeAffinity"] = {**arguments.get("NodeAffinity", {}), "addedAffinity": affinity}
        return tuple(PluginConfig(name=name, args=args) for name, args in arguments.items())

    def _filters(self) -> Iterator[str]:
        filters, zones, gpu = self.spec.filters, self.spec.zones, self.spec.gpu
        if filters.serverless_nodes == "Exclude":
            yield "ServerlessNodes"
        if any(self._type_patterns().values()):
            yield "InstanceType"
        if filters.lifecycles:
            yield "Lifecycle"
        if zones and zones.spread == "Require":
            yield "ZoneSpread"
        if gpu and gpu.pods_without_gpu == "Forbid":
            yield "Gpu"

    def _weights(self) -> dict[str, int]:
        """Return the weights that are set, and the default ones of our own scores whose sections are there."""
        sections = {
            "InstanceType": self.spec.instance_types,
            "Lifecycle": self.spec.lifecycle,
            "ZoneSpread": self.spec.zones,
            "Gpu": self.spec.gpu,
        }
        present = {name: OWN_SCORES[name] for name, section in sections.items() if section is not None}
        return present | dict(self.spec.weights)

    def _arguments(self) -> Iterator[tuple[str, dict[str, Any]]]:
        spec = self.spec
        yield "NodeResourcesFit", self._scoring_strategy()
        yield "InstanceType", self._type_patterns() | _written(spec.instance_types)
        allowed = list(spec.filters.lifecycles)
        yield "Lifecycle", ({"allow": allowed} if allowed else {}) | _written(spec.lifecycle)
        yield "ZoneSpread", _written(spec.filters.zones) | _written(spec.zones)
        yield "Gpu", _written(spec.gpu)

    def _type_patterns(self) -> dict[str, list[str]]:
        """Return the bounds on instance types that node affinity cannot express."""
        types = self.spec.filters.instance_types
        if types is None:
            return {}
        allow = list(types.allow) if any(map(is_pattern, types.allow)) else []
        return {"allow": allow, "deny": list(filter(is_pattern, types.deny))}

    def _scoring_strategy(self) -> dict[str, Any]:
        resources = self.spec.resources
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


def _joined(ours: PluginSet, theirs: PluginSet) -> PluginSet:
    """Add a policy's own plugin set to ours; where both enable a plugin, theirs counts."""
    named = {plugin.name for plugin in theirs.enabled}
    kept = tuple(plugin for plugin in ours.enabled if plugin.name not in named)
    # Not validated: what is joined may be longer than what anybody may write.
    return PluginSet.model_construct(enabled=kept + theirs.enabled, disabled=ours.disabled + theirs.disabled)


def _written(section: Any) -> dict[str, Any]:
    """Return a section as arguments: only what was set, so that the plugin's own defaults hold for the rest."""
    return {} if section is None else section.model_dump(by_alias=True, exclude_unset=True, mode="json")
