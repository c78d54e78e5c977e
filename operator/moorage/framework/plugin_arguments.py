"""Builds plugins from the arguments in a profile's `pluginConfig`, and reports each fault with its path.

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
from moorage.errors import MAX_FAULTS, Fault, Location
from moorage.framework.extension_points import Plugin
from moorage.framework.profile import ProfileSpec

API_VERSION = "kubescheduler.config.k8s.io/v1"


@dataclass(slots=True)
class ProfileArguments:
    """A profile's arguments and their locations by plugin name, and the faults found so far."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def faults_of(self, cls: type[Plugin], error: ValidationError) -> list[Fault]:
        """Return the first MAX_FAULTS validation errors of a plugin, with locations that start at the profile."""
        start = self.locations.get(cls.__name__, (cls.__name__,))
        details = error.errors(include_url=False)[:MAX_FAULTS]
        return [Fault((*start, *detail["loc"]), None, _describe(cls, detail)) for detail in details]


def read_arguments(spec: ProfileSpec, classes: Mapping[str, type[Plugin]]) -> ProfileArguments:
    """Collect a profile's plugin arguments.

    If a plugin has an `ignored_resources_argument`, set this argument to the resources that extenders count.
    """
    arguments = ProfileArguments()
    for index, config in enumerate(spec.plugin_config):
        here: Location = ("pluginConfig", index)
        if config.name in arguments.values:
            message = f"plugin {config.name} is configured twice; merge the entries"
            arguments.faults.append(Fault((*here, "name"), None, message))
        expected = {"apiVersion": API_VERSION, "kind": f"{config.name}Args"}
        arguments.faults += [
            Fault((*here, "args", key), None, f"must be {value}")
            for key, value in expected.items()
            if config.args.get(key, value) != value
        ]
        arguments.locations[config.name] = (*here, "args")
        # Null means no value, as in all Kubernetes APIs. An unknown argument is an error even if its value is null.
        unknown = config.args.keys() - _fields(classes[config.name]) if config.name in classes else ()
        arguments.values[config.name] = {
            key: value
            for key, value in config.args.items()
            if key not in expected and (value is not None or key in unknown)
        }
    ignored = _resources_of_extenders(spec)
    if ignored:
        for name, found in classes.items():
            if found.ignored_resources_argument:
                arguments.values.setdefault(name, {})[found.ignored_resources_argument] = ignored
    return arguments


def _resources_of_extenders(spec: ProfileSpec) -> list[str]:
    """Return the resources that the scheduler ignores because extenders count them."""
    managed = (resource for extender in spec.settings.extenders for resource in extender.managed_resources)
    return sorted({resource.name for resource in managed if resource.ignored_by_scheduler})


def _describe(cls: type[Plugin], error: ErrorDetails) -> str:
    """Return the message for an invalid argument. For an unknown argument, the message suggests known arguments."""
    name, location = cls.__name__, error["loc"]
    if error["type"] != "extra_forbidden":
        return f"{message_of(error)} (plugin {name})"
    known = _field_names(cls, location[:-1])
    if near := get_close_matches(str(location[-1]), known, n=1):
        return f"is not an argument of plugin {name}; did you mean {near[0]}?"
    hint = f"; use one of {', '.join(known)}" if known else "; it takes none" if len(location) == 1 else ""
    return f"is not an argument of plugin {name}{hint}"


def _field_names(model: type[BaseModel] | None, location: Location) -> list[str]:
    """Return the field names of the model at a location below `model`; empty if the location holds no model."""
    for step in location:
        if isinstance(step, str) and model:
            found = _fields(model).get(step)
            model = _model_in(found.annotation) if found else None
    return list(_fields(model)) if model else []


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return a model's fields, by the name that users write for each."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation, such as `Shape` in `tuple[Shape, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def build_plugin(cls: type[Plugin], args: Mapping[str, Any], gates: Mapping[str, bool]) -> Plugin:
    """Build a plugin from its JSON arguments; raise pydantic's ValidationError if they are invalid."""
    context = {"feature_gates": frozenset(gate for gate, is_on in gates.items() if is_on)}
    text = json.dumps(args, default=str)
    return cls.model_validate_json(text, context=context, by_alias=True, by_name=False)
