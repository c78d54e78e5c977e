"""Turns a loaded configuration file into settings of the process, defaults for policies, and profiles. No I/O."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME
from moorage.configuration.loading import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    LoadedConfiguration,
)
from moorage.errors import ConfigurationError, Fault, UnknownPlugins
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.settings import LeaderElectionSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessConfiguration:
    """The settings, plugins and profiles that the process has before it reads the first policy."""

    settings: Settings
    registry: Registry
    """The plugins, for the file's profiles and for policies."""
    defaults: ProfileSettings = field(default_factory=ProfileSettings)
    """The settings of policies that do not set their own."""
    profiles: tuple[Profile, ...] = ()
    """The profiles of the file. They are valid, because they are already built."""
    warnings: tuple[Fault, ...] = ()


def configure(flags: Settings, loaded: LoadedConfiguration | None, registry: Registry) -> ProcessConfiguration:
    """Combine the flags with the loaded file, and build the file's profiles. Flags take precedence."""
    if loaded is None:
        return ProcessConfiguration(settings=flags, registry=registry)
    configuration = loaded.configuration
    defaults = ProfileSettings(
        percentage_of_nodes_to_score=configuration.percentage_of_nodes_to_score,
        initial_backoff_seconds=configuration.pod_initial_backoff_seconds,
        max_backoff_seconds=configuration.pod_max_backoff_seconds,
        extenders=configuration.extenders,
    )
    return ProcessConfiguration(
        settings=_settings(flags, configuration),
        registry=registry,
        defaults=defaults,
        profiles=_build(configuration, defaults, registry),
        warnings=loaded.warnings,
    )


def check_profile(registry: Registry, profile: KubeSchedulerProfile) -> Collection[Fault]:
    """Return the faults of a profile's plugins and of their arguments."""
    try:
        registry.build_profile(_spec(profile, ProfileSettings()))
    except (ConfigurationError, UnknownPlugins) as error:
        return error.faults
    return ()


def _settings(flags: Settings, configuration: KubeSchedulerConfiguration) -> Settings:
    connection = configuration.client_connection
    from_file = Path(connection.kubeconfig) if connection.kubeconfig else None
    return replace(
        flags,
        kubeconfig=flags.kubeconfig or from_file,
        qps=max(connection.qps, 0.0),
        burst=connection.burst,
        parallelism=configuration.parallelism,
        leader_election=_leader_election(configuration.leader_election, enabled=flags.leader_election.enabled),
    )


def _leader_election(election: LeaderElection, *, enabled: bool) -> LeaderElectionSettings:
    return LeaderElectionSettings(
        enabled=enabled and election.leader_elect,
        lease_duration_seconds=election.lease_duration_seconds,
        renew_deadline_seconds=election.renew_deadline_seconds,
        retry_period_seconds=election.retry_period_seconds,
        lease_name=election.resource_name,
        lease_namespace=election.resource_namespace,
    )


def _build(
    configuration: KubeSchedulerConfiguration, defaults: ProfileSettings, registry: Registry
) -> tuple[Profile, ...]:
    return tuple(registry.build_profile(_spec(profile, defaults)) for profile in configuration.profiles)


def _spec(profile: KubeSchedulerProfile, defaults: ProfileSettings) -> ProfileSpec:
    percentage = profile.percentage_of_nodes_to_score
    return ProfileSpec(
        scheduler_name=profile.scheduler_name or DEFAULT_SCHEDULER_NAME,
        plugins=profile.plugins,
        plugin_config=profile.plugin_config,
        settings=defaults if percentage is None else replace(defaults, percentage_of_nodes_to_score=percentage),
    )
