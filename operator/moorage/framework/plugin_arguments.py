"""Plugin arguments: from a profile's `pluginConfig` to plugins, and every fault with its path.

Upstream: pkg/scheduler/apis/config/scheme and validation, pkg/scheduler/scheduler.go (buildExtenders).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from moorage.api.validation_faults import message_of
from moorage.errors import Fault, Location
from moorage.framework.extension_points import Plugin
from moorage.framework.profile import ProfileSpec

API_VERSION = "kubescheduler.config.k8s.io/v1"
FIT_PLUGIN = "NodeResourcesFit"
"""The plugin that lets go of the resources which an extender accounts for."""


@dataclass(slots=True)
class ProfileArguments:
    """The arguments by plugin name, where each stood, and what is wrong with them already."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def faults_of(self, cls: type[Plugin], refusal: ValidationError) -> list[Fault]:
        """Put a plugin's refusal into faults with paths from the profile down."""
        start = self.locations.get(cls.__name__, (cls.__name__,))
        return [Fault((*start, *error["loc"]), None, _words(cls, error)) for error in refusal.errors(include_url=False)]


def read_arguments(spec: ProfileSpec) -> ProfileArguments:
    """Collect a profile's plugin arguments; resources that extenders account for replace `ignoredResources`."""
    arguments = ProfileArguments()
    for index, config in enumerate(spec.plugin_config):
        here: Location = ("pluginConfig", index)
        if config.name in arguments.values:
            arguments.faults.append(Fault((*here, "name"), None, f"plugin {config.name} is configured twice"))
        expected = {"apiVersion": API_VERSION, "kind": f"{config.name}Args"}
        arguments.faults += [
            Fault((*here, "args", key), None, f"must be {value}")
            for key, value in expected.items()
            if config.args.get(key, value) != value
        ]
        arguments.locations[config.name] = (*here, "args")
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


def _words(cls: type[Plugin], error: ErrorDetails) -> str:
    """Say what is wrong with an argument, and of which plugin; for one that there is not, which there are."""
    name, location = cls.__name__, error["loc"]
    if error["type"] != "extra_forbidden":
        return f"{message_of(error)} (plugin {name})"
    known = _fields_at(cls, location[:-1])
    if near := get_close_matches(str(location[-1]), known, n=1):
        return f"is no argument of plugin {name}; did you mean {near[0]}?"
    hint = f"; there are {', '.join(known)}" if known else "; it takes none" if len(location) == 1 else ""
    return f"is no argument of plugin {name}{hint}"


def _fields_at(model: type[BaseModel] | None, location: Location) -> list[str]:
    """Return the names of the fields at a location below a model; nothing where no model stands there."""
    for step in location:
        if isinstance(step, str) and model:
            found = _named(model).get(step)
            model = _model_in(found.annotation) if found else None
    return list(_named(model)) if model else []


def _named(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model that an annotation speaks of, as `Shape` in `tuple[Shape, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def build_plugin(cls: type[Plugin], args: Mapping[str, Any], gates: Mapping[str, bool]) -> Plugin:
    """Build a plugin of arguments as JSON has them; pydantic's ValidationError where they do not hold."""
    context = {"feature_gates": frozenset(gate for gate, is_on in gates.items() if is_on)}
    text = json.dumps(args, default=str)
    return cls.model_validate_json(text, context=context, by_alias=True, by_name=False)
