"""Compiles a SchedulingPolicy to a ProfileSpec, which is similar to a profile of a KubeSchedulerConfiguration.

`expand_preset` first fills in the preset; then every field of `spec` becomes plugins, weights and arguments. moorage's
own plugins declare which fields configure them (`moorage.framework.policy_plugin`). This module does not build plugins:
the registry builds the profile and validates the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from moorage.api.base import ApiModel
from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.api.policy_filters import FiltersSection
from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.added_affinity import added_affinity, filter_fields
from moorage.compilation.namespace_requirements import compile_selector
from moorage.compilation.presets import expand_preset
from moorage.compilation.scoring_strategy import packs, scoring_strategy
from moorage.framework.plugin_sets import implements
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.profile import CanaryShare, PolicyReference, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry

ALL_NODES = 100
"""The percentage of nodes to score if a policy packs pods or has a section. Such a policy needs the best node."""


def compile_policy(policy: SchedulingPolicy, registry: Registry, defaults: ProfileSettings) -> ProfileSpec:
    """Return the profile that a policy describes. `defaults` are the settings of fields that the policy leaves out."""
    parts = _Parts(expand_preset(policy.spec), registry.policy_plugins())
    metadata = policy.metadata
    return ProfileSpec(
        scheduler_name=policy.scheduler_name,
        plugins=parts.plugins(),
        plugin_config=parts.plugin_config(),
        settings=parts.settings(defaults),
        policy=PolicyReference(metadata.name, metadata.uid, metadata.generation, filter_fields(parts.spec.filters)),
        filters_before_resources=parts.filters_before_resources(),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of the profile of one spec, whose preset is already expanded."""

    spec: SchedulingPolicySpec
    policy_plugins: tuple[type[PolicyPlugin], ...]

    def settings(self, defaults: ProfileSettings) -> ProfileSettings:
        spec, backoff = self.spec, self.spec.backoff
        percentage = spec.percentage_of_nodes_to_score
        if percentage is None:
            needs_all = packs(spec.resources) or bool(self._section_weights())
            percentage = ALL_NODES if needs_all else defaults.percentage_of_nodes_to_score
        return replace(
            defaults,
            percentage_of_nodes_to_score=percentage,
            initial_backoff_seconds=(backoff and backoff.initial_seconds) or defaults.initial_backoff_seconds,
            max_backoff_seconds=(backoff and backoff.max_seconds) or defaults.max_backoff_seconds,
            paused=spec.paused,
            shadow_of=spec.shadow_of or "",
            canary=CanaryShare(spec.canary.of, spec.canary.percent) if spec.canary else None,
            allowed_namespaces=compile_selector(spec.allowed_namespaces),
            strict_preemption=spec.preemption.pdb_policy == "Strict",
            extenders=(*defaults.extenders, *spec.extenders),
        )

    def plugins(self) -> Plugins:
        """Return the plugins for each extension point. The plugins in `spec.plugins` come after the others."""
        weights = self._section_weights() | dict(self.spec.weights)
        filters = self._filters(self.spec)
        scores = [plugin for plugin in self.policy_plugins if weights.get(plugin.__name__)]
        preemption = () if self.spec.preemption.enabled else (PluginEntry(name="DefaultPreemption"),)
        ours = {
            "pre_filter": PluginSet(enabled=_having("preFilter", filters)),
            "filter": PluginSet(enabled=_having("filter", filters)),
            "pre_score": PluginSet(enabled=_having("preScore", scores)),
            "score": PluginSet(
                enabled=tuple(PluginEntry(name=name, weight=weight) for name, weight in weights.items() if weight),
                disabled=self._disabled_scores(),
            ),
            "post_filter": PluginSet(disabled=preemption),
        }
        return self.spec.plugins.model_copy(
            update={point: _joined(plugins, getattr(self.spec.plugins, point)) for point, plugins in ours.items()}
        )

    def filters_before_resources(self) -> tuple[str, ...]:
        """Return the Filter plugins of the spec's fields, except plugins whose order is set in `spec.plugins`.

        Return none if the policy excludes the same nodes as an empty spec. Such a policy keeps kube-scheduler's
        messages.
        """
        filters = self._filters(self.spec)
        if self.spec.filters == FiltersSection() and filters == self._filters(SchedulingPolicySpec()):
            return ()
        ordered = {
            entry.name for point in (self.spec.plugins.filter, self.spec.plugins.multi_point) for entry in point.enabled
        }
        return tuple(entry.name for entry in _having("filter", filters) if entry.name not in ordered)

    def plugin_config(self) -> tuple[PluginConfig, ...]:
        """Return the arguments of plugins from the spec's fields. Arguments in `spec.pluginConfig` take precedence."""
        arguments = {name: args for name, args in self._arguments() if args}
        for config in self.spec.plugin_config:
            arguments[config.name] = {**arguments.get(config.name, {}), **config.args}
        affinity = added_affinity(self.spec.filters, arguments.get("NodeAffinity", {}).get("addedAffinity"))
        if affinity:
            arguments["NodeAffinity"] = {**arguments.get("NodeAffinity", {}), "addedAffinity": affinity}
        return tuple(PluginConfig(name=name, args=args) for name, args in arguments.items())

    def _filters(self, spec: SchedulingPolicySpec) -> list[type[PolicyPlugin]]:
        """Return the plugins whose Filter a spec needs."""
        return [plugin for plugin in self.policy_plugins if plugin.is_filter_required(spec)]

    def _section_weights(self) -> dict[str, int]:
        """Return the default weights of the Score plugins whose sections the policy has."""
        return {
            plugin.__name__: plugin.default_weight
            for plugin in self.policy_plugins
            if implements(plugin, "score") and plugin.section_of(self.spec) is not None
        }

    def _disabled_scores(self) -> tuple[PluginEntry, ...]:
        """Return the default plugins whose weight is 0. Plugins of sections are not default plugins."""
        own = {plugin.__name__ for plugin in self.policy_plugins}
        return tuple(
            PluginEntry(name=name) for name, weight in self.spec.weights.items() if weight == 0 and name not in own
        )

    def _arguments(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "NodeResourcesFit", scoring_strategy(self.spec.resources)
        for plugin in self.policy_plugins:
            section = plugin.section_of(self.spec)
            yield plugin.__name__, plugin.filter_arguments(self.spec.filters) | _written(section)


def _having(point: str, plugins: list[type[PolicyPlugin]]) -> tuple[PluginEntry, ...]:
    return tuple(PluginEntry(name=plugin.__name__) for plugin in plugins if implements(plugin, point))


def _joined(ours: PluginSet, theirs: PluginSet) -> PluginSet:
    """Return `ours` followed by `theirs`, the set in the policy. If both enable a plugin, `theirs` takes precedence."""
    named = {plugin.name for plugin in theirs.enabled}
    kept = tuple(plugin for plugin in ours.enabled if plugin.name not in named)
    # Skip validation, because the joined set may be longer than a set that users may write.
    return PluginSet.model_construct(enabled=kept + theirs.enabled, disabled=ours.disabled + theirs.disabled)


def _written(section: ApiModel | None) -> dict[str, Any]:
    """Return the fields of a section that are set, as arguments. The plugin's defaults apply to the other fields."""
    return {} if section is None else section.model_dump(by_alias=True, exclude_unset=True, mode="json")
