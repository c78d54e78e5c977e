"""Where in a policy stands what its profile is refused for: users look for what they wrote, not for what it became."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.errors import Fault
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
_ARGUMENT = re.compile(r"pluginConfig\[(?P<index>\d+)\]\.args(?P<rest>.*)")


def faults_of_plugins(policy: SchedulingPolicy, registry: Registry) -> Iterator[Fault]:
    """Find plugins at points that they do not have; UnknownPlugin for one that there is not."""
    for name, weight in policy.spec.weights.items():
        if not plugin_sets.implements(registry.find(name), "score") and weight:
            words = f"{name} has no score; `moorage plugins` lists the plugins that have one"
            yield Fault(f"spec.weights.{name}", None, words)
    for _, wanted in policy.spec.plugins.points():
        for entry in wanted.enabled:
            registry.find(entry.name)
    for fault in plugin_sets.faults_of(policy.spec.plugins, registry.classes):
        yield replace(fault, path=f"spec.{fault.path}")


def as_written(fault: Fault, policy: SchedulingPolicy, compiled: ProfileSpec) -> Fault:
    """Return a fault of the compiled profile with its path in the policy."""
    argument = _ARGUMENT.fullmatch(fault.path)
    if argument is None:
        return replace(fault, path=f"spec.{fault.path}")
    name, rest = compiled.plugin_config[int(argument["index"])].name, argument["rest"]
    return replace(fault, path=_path_of_argument(name, rest, policy))


def _path_of_argument(name: str, rest: str, policy: SchedulingPolicy) -> str:
    """Find the policy's own argument; if it has none of that name, the section that stands for it."""
    first = re.split(r"[.\[]", rest.removeprefix("."))[0]
    for index, config in enumerate(policy.spec.plugin_config):
        if config.name == name and (first in config.args or name not in SECTIONS):
            return f"spec.pluginConfig[{index}].args{rest}"
    return f"spec.{SECTIONS[name]}"
