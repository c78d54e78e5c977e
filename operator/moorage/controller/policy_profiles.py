"""Builds the profile of a policy. Its errors name fields of the policy, not of the compiled profile."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.extender import Extender
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.compile import compile_policy
from moorage.compilation.fault_paths import check_plugin_names, fault_in_policy, faults_of_plugins
from moorage.controller.policy_permissions import NO_PERMISSIONS, PolicyPermissions
from moorage.errors import ConfigurationError, Fault, InvalidPolicy, PolicyNotAllowed
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry
from moorage.runtime.extenders.extender_connection import check_url
from moorage.runtime.extenders.extender_tls import check_tls


def build_profile(
    registry: Registry,
    defaults: ProfileSettings,
    policy: SchedulingPolicy,
    permissions: PolicyPermissions = NO_PERMISSIONS,
) -> Profile:
    """Build the profile of a policy. Raise PolicyNotAllowed or InvalidPolicy with all faults, or UnknownPlugins."""
    if not_allowed := [*permissions.faults_of(policy)]:
        raise PolicyNotAllowed(not_allowed)
    check_plugin_names(policy, registry)
    faults = [*_faults_of_extenders(policy), *faults_of_plugins(policy, registry)]
    if faults:
        raise InvalidPolicy(faults)
    compiled = compile_policy(policy, registry, defaults)
    try:
        return registry.build_profile(compiled)
    except ConfigurationError as error:
        raise InvalidPolicy([fault_in_policy(fault, policy, compiled, registry) for fault in error.faults]) from error


def check_extender(extender: Extender) -> list[Fault]:
    """Return the faults of an extender's URL and certificates, with locations below the extender."""
    return [*check_url(extender), *check_tls(extender)]


def _faults_of_extenders(policy: SchedulingPolicy) -> Iterator[Fault]:
    for index, extender in enumerate(policy.spec.extenders):
        for fault in check_extender(extender):
            yield fault.below("spec", "extenders", index)
