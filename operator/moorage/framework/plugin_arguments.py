"""Plugin arguments: from a profile's `pluginConfig` to plugins, and every fault with its path.

Upstream: pkg/scheduler/apis/config/scheme and validation, pkg/scheduler/scheduler.go (buildExtenders).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from moorage.errors import Fault
from moorage.framework.interface import Plugin
from moorage.framework.profile import ProfileSpec

API_VERSION = "kubescheduler.config.k8s.io/v1"
FIT_PLUGIN = "NodeResourcesFit"
"""The plugin that lets go of the resources which an extender accounts for."""


@dataclass(slots=True)
class Arguments:
    """The arguments by plugin name, where each stood, and what is wrong with them already."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def faults_of(self, name: str, refusal: ValidationError) -> list[Fault]:
        """Put a plugin's refusal into faults with paths from the profile down."""
        start = self.paths.get(name, name)
        return [
            Fault(".".join([start, *map(str, error["loc"])]), None, error["msg"])
            for error in refusal.errors(include_url=False)
        ]


def read_arguments(spec: ProfileSpec) -> Arguments:
    """Collect a profile's plugin arguments; resources that extenders account for replace `ignoredResources`."""
    arguments = Arguments()
    for index, config in enumerate(spec.plugin_config):
        path = f"pluginConfig[{index}]"
        if config.name in arguments.values:
            arguments.faults.append(Fault(f"{path}.name", None, f"plugin {config.name} is configured twice"))
        expected = {"apiVersion": API_VERSION, "kind": f"{config.name}Args"}
        arguments.faults += [
            Fault(f"{path}.args.{key}", None, f"must be {value}")
            for key, value in expected.items()
            if config.args.get(key, value) != value
        ]
        arguments.paths[config.name] = f"{path}.args"
        # A null is the same as no value, as in every API of Kubernetes.
        arguments.values[config.name] = {
            key: value for key, value in config.args.items() if key not in expected and value is not None
        }
    ignored = _resources_left_to_extenders(spec)
    if ignored:
        arguments.values.setdefault(FIT_PLUGIN, {})["ignoredResources"] = ignored
    return arguments


def _resources_left_to_extenders(spec: ProfileSpec) -> list[str]:
    managed = (resource for extender in spec.settings.extenders for resource in extender.managed_resources)
    return sorted({resource.name for resource in managed if resource.ignored_by_scheduler})


def build_plugin(cls: type[Plugin], args: Mapping[str, Any], gates: Mapping[str, bool]) -> Plugin:
    """Build a plugin of arguments as JSON has them; pydantic's ValidationError where they do not hold."""
    context = {"feature_gates": frozenset(gate for gate, is_on in gates.items() if is_on)}
    text = json.dumps(args, default=str)
    return cls.model_validate_json(text, context=context, by_alias=True, by_name=False)
