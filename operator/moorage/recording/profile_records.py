"""Writes profiles as values for msgpack, and builds them again from these values.

A profile is recorded as its specification. Plugins and their arguments are built again in the replay. Of extenders,
only the fields that the engine reads are recorded: their addresses and keys are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import convert
from pydantic import BaseModel

from moorage.api.extender import Extender
from moorage.errors import FaultsError, UnknownPlugins
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.recording.recording_faults import UnusableRecording

UNKNOWN_ADDRESS = "http://extender.invalid"
"""Replaces the address of an extender, because a replay calls no extenders."""
_SECRETS = {"url_prefix", "enable_https", "tls_config", "http_timeout"}


def write_profile(profile: Profile) -> ProfileSpec:
    """Return the specification of a profile that the registry has built, without the secrets of extenders."""
    if profile.spec is None:
        raise ValueError(f"the profile {profile.name} was not built from a specification")
    extenders = tuple(_without_secrets(extender) for extender in profile.settings.extenders)
    settings = replace(profile.settings, extenders=extenders)
    return replace(profile.spec, settings=settings, policy=profile.policy)


def read_profile(value: Any, registry: Registry) -> Profile:
    """Build the profile of a value. Raise UnusableRecording if this version of moorage cannot build it."""
    try:
        return registry.build_profile(convert(value, ProfileSpec, dec_hook=_read_model))
    except (UnknownPlugins, FaultsError, ValueError, TypeError) as error:
        name = value.get("scheduler_name", "?") if isinstance(value, dict) else "?"
        message = f"the profile {name} of the recording cannot be built: {error}; install the same plugins"
        raise UnusableRecording(message) from error


def _without_secrets(extender: Extender) -> Extender:
    fields = extender.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_SECRETS)
    return Extender.model_validate({**fields, "urlPrefix": UNKNOWN_ADDRESS})


def _read_model(kind: type[Any], value: Any) -> Any:
    """Read a value of a type that msgspec does not know."""
    if issubclass(kind, BaseModel):
        return kind.model_validate(value)
    raise TypeError(f"a recording cannot hold a {kind.__name__}")
