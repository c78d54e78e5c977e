"""Finds the field of a policy for a fault of its compiled profile, because users look for what they wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.errors import Fault, Location
from moorage.framework import plugin_sets
from moorage.framework.policy_plugin import PolicyPlugin
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry

UPSTREAM_SECTIONS = {"NodeResourcesFit": "resources", "NodeAffinity": "filters"}
"""The section of the policy that gives arguments to a plugin of kube-scheduler."""


def faults_of_plugins(policy: SchedulingPolicy, registry: Registry) -> Iterator[Fault]:
    """Yield the plugins that the policy names at extension points they do not have. Raise UnknownPlugin."""
    for name, weight in policy.spec.weights.items():
        if not plugin_sets.implements(registry.find(name), "score") and weight:
            message = f"{name} has no score; `moorage plugins` lists the plugins that have one"
            yield Fault(("spec", "weights", name), None, message)
    for _, wanted in policy.spec.plugins.points():
        for entry in wanted.enabled:
            registry.find(entry.name)
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
    """Return the location of an argument in `pluginConfig`, or the section that it comes from."""
    section = _section(plugin, registry)
    for index, config in enumerate(policy.spec.plugin_config):
        if config.name == plugin and (section is None or not rest or rest[0] in config.args):
            return ("pluginConfig", index, "args", *rest)
    return () if section is None else (section,)


def _section(plugin: str, registry: Registry) -> str | None:
    """Return the section that gives arguments to a plugin, as users write it; None if there is none."""
    cls = registry.classes[plugin]
    if issubclass(cls, PolicyPlugin) and cls.policy_section:
        return SchedulingPolicySpec.model_fields[cls.policy_section].alias
    return UPSTREAM_SECTIONS.get(plugin)
