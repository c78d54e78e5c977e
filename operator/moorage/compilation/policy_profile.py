"""Builds the profile of a policy. Errors name fields of the policy, not fields of the compiled profile."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.compile import compile_policy
from moorage.compilation.fault_paths import check_plugin_names, fault_in_policy, faults_of_plugins
from moorage.errors import ConfigurationError, Fault, InvalidPolicy
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry


def build_policy_profile(
    policy: SchedulingPolicy, registry: Registry, defaults: ProfileSettings, known_faults: Iterable[Fault] = ()
) -> Profile:
    """Build the profile of a policy. Raise InvalidPolicy with all faults, or UnknownPlugins.

    `known_faults` are faults that the caller has found. InvalidPolicy has these faults first.
    """
    check_plugin_names(policy, registry)
    faults = [*known_faults, *faults_of_plugins(policy, registry)]
    if faults:
        raise InvalidPolicy(faults)
    compiled = compile_policy(policy, registry, defaults)
    try:
        return registry.build_profile(compiled)
    except ConfigurationError as error:
        raise InvalidPolicy([fault_in_policy(fault, policy, compiled, registry) for fault in error.faults]) from error
