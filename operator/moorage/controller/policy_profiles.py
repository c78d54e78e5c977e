"""From a policy to its profile, or to all that keeps it from having one, by the paths that its author wrote."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.extender import Extender
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.controller.compile import compile_policy
from moorage.controller.fault_paths import as_written, faults_of_plugins
from moorage.errors import ConfigurationError, Fault, InvalidPolicy
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry
from moorage.runtime.extenders.extender_connection import check_url
from moorage.runtime.extenders.extender_tls import check_tls


def build_profile(registry: Registry, defaults: ProfileSettings, policy: SchedulingPolicy) -> Profile:
    """Build the profile that a policy stands for; InvalidPolicy, or UnknownPlugin, where it cannot be built."""
    faults = [*_faults_of_extenders(policy), *faults_of_plugins(policy, registry)]
    if faults:
        raise InvalidPolicy(faults)
    compiled = compile_policy(policy, registry, defaults)
    try:
        return registry.build_profile(compiled)
    except ConfigurationError as error:
        raise InvalidPolicy([as_written(fault, policy, compiled, registry) for fault in error.faults]) from error


def check_extender(extender: Extender) -> list[Fault]:
    """Return everything for which an extender cannot be called, by paths from the extender down."""
    return [*check_url(extender), *check_tls(extender)]


def _faults_of_extenders(policy: SchedulingPolicy) -> Iterator[Fault]:
    for index, extender in enumerate(policy.spec.extenders):
        for fault in check_extender(extender):
            yield fault.below("spec", "extenders", index)
