"""Maps a fault of a compiled profile to the field of the policy, because users know only the policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.added_affinity import location_in_filters
from moorage.errors import Fault, Location, UnknownPlugins
from moorage.framework import plugin_sets
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry

UPSTREAM_SECTIONS = {"NodeResourcesFit": "resources", "NodeAffinity": "filters"}
"""The sections of the policy that give arguments to plugins of kube-scheduler, by plugin name."""


def check_plugin_names(policy: SchedulingPolicy, registry: Registry) -> None:
    """Raise UnknownPlugins with each field of the spec that names an unknown plugin."""
    spec = policy.spec
    unknown = [*registry.unknown_weights(spec.weights), *registry.unknown_plugins(spec.plugins, spec.plugin_config)]
    if unknown:
        raise UnknownPlugins([fault.below("spec") for fault in unknown])


def faults_of_plugins(policy: SchedulingPolicy, registry: Registry) -> Iterator[Fault]:
    """Yield a fault for each plugin that the policy enables at an extension point that the plugin lacks."""
    for name, weight in policy.spec.weights.items():
        if weight and not plugin_sets.implements(registry.classes[name], "score"):
            message = f"{name} has no score; `moorage plugins` lists the plugins that have one"
            yield Fault(("spec", "weights", name), None, message)
    for fault in plugin_sets.faults_of(policy.spec.plugins, registry.classes):
        yield fault.below("spec")


def fault_in_policy(fault: Fault, policy: SchedulingPolicy, compiled: ProfileSpec, registry: Registry) -> Fault:
    """Return a fault of the compiled profile with its location in the policy."""
    match fault.location:
        case ("pluginConfig", int(index), "args", *rest):
            plugin = compiled.plugin_config[index].name
            return replace(fault, location=("spec", *_argument(plugin, tuple(rest), policy, registry)))
        case _:
            return fault.below("spec")


def _argument(plugin: str, rest: Location, policy: SchedulingPolicy, registry: Registry) -> Location:
    """Return the location of an argument: in `pluginConfig`, or in the section that sets the argument."""
    section = _section(plugin, registry)
    if plugin == "NodeAffinity" and (found := location_in_filters(policy.spec.filters, _own_affinity(policy), rest)):
        return found
    for index, config in enumerate(policy.spec.plugin_config):
        if config.name == plugin and (section is None or not rest or rest[0] in config.args):
            return ("pluginConfig", index, "args", *rest)
    return () if section is None else (section, *_below(section, rest))


def _own_affinity(policy: SchedulingPolicy) -> Any:
    configs = (config.args for config in policy.spec.plugin_config if config.name == "NodeAffinity")
    return next(configs, {}).get("addedAffinity")


def _below(section: str, rest: Location) -> Location:
    """Return the location of an argument below its section. Empty if the fields of the section have other names."""
    return () if section in UPSTREAM_SECTIONS.values() else rest


def _section(plugin: str, registry: Registry) -> str | None:
    """Return the camelCase name of the section that gives arguments to a plugin; None if no section does."""
    cls = registry.classes[plugin]
    if issubclass(cls, PolicyPlugin) and cls.policy_section:
        return SchedulingPolicySpec.model_fields[cls.policy_section].alias
    return UPSTREAM_SECTIONS.get(plugin)
