"""Where in a policy stands what its profile is refused for: users look for what they wrote, not for what it became."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.errors import Fault, Location
from moorage.framework import plugin_sets
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry

SECTIONS = {
    "NodeResourcesFit": "resources",
    "NodeAffinity": "filters",
    "InstanceType": "instanceTypes",
    "Lifecycle": "lifecycle",
    "ZoneSpread": "zones",
    "Gpu": "gpu",
}
"""The section that a plugin's arguments come from where the policy does not write them itself."""


def faults_of_plugins(policy: SchedulingPolicy, registry: Registry) -> Iterator[Fault]:
    """Find plugins at points that they do not have; UnknownPlugin for one that there is not."""
    for name, weight in policy.spec.weights.items():
        if not plugin_sets.implements(registry.find(name), "score") and weight:
            words = f"{name} has no score; `moorage plugins` lists the plugins that have one"
            yield Fault(("spec", "weights", name), None, words)
    for _, wanted in policy.spec.plugins.points():
        for entry in wanted.enabled:
            registry.find(entry.name)
    for fault in plugin_sets.faults_of(policy.spec.plugins, registry.classes):
        yield fault.below("spec")


def as_written(fault: Fault, policy: SchedulingPolicy, compiled: ProfileSpec) -> Fault:
    """Return a fault of the compiled profile with its path in the policy."""
    match fault.location:
        case ("pluginConfig", int(index), "args", *rest):
            name = compiled.plugin_config[index].name
            return replace(fault, location=("spec", *_argument(name, tuple(rest), policy)))
        case _:
            return fault.below("spec")


def _argument(name: str, rest: Location, policy: SchedulingPolicy) -> Location:
    """Find the policy's own argument; if it has none of that name, the section that stands for it."""
    for index, config in enumerate(policy.spec.plugin_config):
        if config.name == name and (name not in SECTIONS or not rest or rest[0] in config.args):
            return ("pluginConfig", index, "args", *rest)
    return (SECTIONS[name],)
