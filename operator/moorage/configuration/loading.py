"""Loads a KubeSchedulerConfiguration from text, and collects all faults of the text.

    read_content ──▶ header ──▶ models and rules ──▶ plugin names ──▶ plugin arguments ──▶ warnings
        every step adds its faults; only a text that cannot be parsed ends the loading early

Plugin arguments stay mappings here. The caller passes `check_profile`, which validates them by building the plugins.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME
from moorage.api.validation_faults import message_of
from moorage.configuration.content_reader import read_content
from moorage.configuration.element_checks import ExtenderCheck, ProfileCheck, extender_faults, profile_faults
from moorage.configuration.field_hints import FieldHints
from moorage.configuration.ineffective_fields import KUBE_SCHEDULER_LEASE, ineffective_fields
from moorage.configuration.located_content import LocatedContent
from moorage.configuration.plugin_names import plugin_faults, plugin_warnings, unknown_plugins
from moorage.configuration.profile_names import profile_name_faults, profile_name_warnings
from moorage.configuration.scheduler_configuration import (
    API_VERSION,
    DEFAULT_LEASE_NAME,
    KIND,
    ClientConnection,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
)
from moorage.configuration.tolerant_validation import TolerantValidation
from moorage.configuration.unrendered_templates import explain
from moorage.errors import ConfigurationError, Fault

__all__ = [
    "ClientConnection",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElection",
    "LoadedConfiguration",
    "load",
]

GROUP = "kubescheduler.config.k8s.io"
OLDER_VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A valid configuration, and warnings for its author."""

    configuration: KubeSchedulerConfiguration
    """The configuration in force, with default names filled in."""
    warnings: tuple[Fault, ...]
    """Fields that are valid, but do not have the same effect as in kube-scheduler."""


def load(
    text: str,
    *,
    known_plugins: Collection[str],
    check_profile: ProfileCheck = lambda _: (),
    check_extender: ExtenderCheck = lambda _: (),
    allow_default_scheduler: bool = False,
) -> LoadedConfiguration:
    """Load a KubeSchedulerConfiguration. Raise ConfigurationError with all faults of the text, sorted by line.

    `check_profile` gets the valid part of each profile and returns the faults of plugins and their arguments.
    `check_extender` gets each valid extender and returns the faults of its URL and certificates.
    """
    source = read_content(text)
    if not isinstance(source.content, Mapping):
        found = "has no content" if source.content is None else "is not a mapping"
        raise ConfigurationError([Fault((), 1, f"the file {found}; it must hold one {KIND}")])
    faults = [*source.faults, *_header_faults(source)]
    fields = {**source.content, "apiVersion": API_VERSION, "kind": KIND}
    validation = TolerantValidation(KubeSchedulerConfiguration, fields)
    faults += _model_faults(source, validation)
    faults += plugin_faults(source, known_plugins)
    faults += profile_name_faults(source, allow_default_scheduler=allow_default_scheduler)
    misnamed = set(unknown_plugins(source, known_plugins))
    named = {fault.location for fault in faults}
    faults += [fault for fault in profile_faults(source, misnamed, check_profile) if fault.location not in named]
    faults += extender_faults(source, check_extender)
    if faults or validation.model is None:
        raise ConfigurationError(_by_line(explain(text, faults)))
    warnings = [*ineffective_fields(source), *plugin_warnings(source, known_plugins), *profile_name_warnings(source)]
    return LoadedConfiguration(_settled(validation.model), _by_line(warnings))


def _model_faults(
    source: LocatedContent, validation: TolerantValidation[KubeSchedulerConfiguration]
) -> Iterator[Fault]:
    hints = FieldHints(KubeSchedulerConfiguration) if validation.errors else None
    for location, details in validation.errors:
        hint = hints.for_error(location, details["type"]) if hints else ""
        yield source.fault(location, message_of(details) + hint)


def _by_line(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: (fault.line or 0, fault.path)))


def _header_faults(source: LocatedContent) -> Iterator[Fault]:
    version = source.content.get("apiVersion")
    group, _, name = str(version).partition("/")
    if group == GROUP and name in OLDER_VERSIONS:
        message = f"{version} is no longer supported; write {API_VERSION}, then fix the fields that it refuses"
        yield source.fault(("apiVersion",), message)
    elif version != API_VERSION:
        yield source.fault(("apiVersion",), f"must be {API_VERSION}" + (f", not {version!r}" if version else ""))
    kind = source.content.get("kind")
    if kind != KIND:
        yield source.fault(("kind",), f"must be {KIND}" + (f", not {kind!r}" if kind else ""))


def _settled(configuration: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Replace kube-scheduler's Lease name by moorage's, and set the default schedulerName of a single profile."""
    election = configuration.leader_election
    if election.resource_name == KUBE_SCHEDULER_LEASE:
        election = election.model_copy(update={"resource_name": DEFAULT_LEASE_NAME})
    profiles = tuple(
        profile.model_copy(update={"scheduler_name": profile.scheduler_name or DEFAULT_SCHEDULER_NAME})
        for profile in configuration.profiles
    )
    return configuration.model_copy(update={"leader_election": election, "profiles": profiles})
