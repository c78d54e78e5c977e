"""Writes profiles as values for msgpack, and builds them again from these values.

A profile is recorded as its specification. Plugins and their arguments are built again in the replay. Of extenders,
only the fields that the engine reads are recorded: their addresses and keys are left out.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, convert

from moorage.api.extender import Extender
from moorage.api.plugin_config import PluginConfig, Plugins
from moorage.errors import FaultsError, UnknownPlugins
from moorage.framework.profile import PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.selectors import LabelSelector
from moorage.recording.recording_faults import UnusableRecording

UNKNOWN_ADDRESS = "http://extender.invalid"
"""Replaces the address of an extender, because a replay calls no extenders."""
_SECRETS = {"url_prefix", "enable_https", "tls_config", "http_timeout"}


class ProfileRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A profile as a value."""

    name: str
    plugins: dict[str, Any]
    plugin_config: list[dict[str, Any]]
    filters_before_resources: tuple[str, ...]
    extenders: list[dict[str, Any]]
    allowed_namespaces: LabelSelector | None
    settings: dict[str, Any]
    policy: PolicyReference | None


_SEPARATE = ("extenders", "allowed_namespaces")


def write_profile(profile: Profile) -> ProfileRecord:
    """Return the value for a profile that the registry has built."""
    spec = profile.spec
    if spec is None:
        raise ValueError(f"the profile {profile.name} was not built from a specification")
    settings = profile.settings
    return ProfileRecord(
        name=profile.name,
        plugins=spec.plugins.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        plugin_config=[each.model_dump(mode="json", by_alias=True) for each in spec.plugin_config],
        filters_before_resources=spec.filters_before_resources,
        extenders=[_write_extender(each) for each in settings.extenders],
        allowed_namespaces=settings.allowed_namespaces,
        settings={name: getattr(settings, name) for name in settings.__slots__ if name not in _SEPARATE},
        policy=profile.policy,
    )


def read_profile(value: Any, registry: Registry) -> Profile:
    """Build the profile of a value. Raise UnusableRecording if this version of moorage cannot build it."""
    record = convert(value, ProfileRecord)
    try:
        spec = ProfileSpec(
            scheduler_name=record.name,
            plugins=Plugins.model_validate(record.plugins),
            plugin_config=tuple(map(PluginConfig.model_validate, record.plugin_config)),
            settings=ProfileSettings(
                extenders=tuple(map(Extender.model_validate, record.extenders)),
                allowed_namespaces=record.allowed_namespaces,
                **record.settings,
            ),
            policy=record.policy,
            filters_before_resources=record.filters_before_resources,
        )
        return registry.build_profile(spec)
    except (UnknownPlugins, FaultsError, ValueError, TypeError) as error:
        message = f"the profile {record.name} of the recording cannot be built: {error}; install the same plugins"
        raise UnusableRecording(message) from error


def _write_extender(extender: Extender) -> dict[str, Any]:
    fields: dict[str, Any] = extender.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_SECRETS)
    return {**fields, "urlPrefix": UNKNOWN_ADDRESS}
