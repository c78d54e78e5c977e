"""Builds the profile of a policy within the permissions of the operator."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.extender import Extender
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.compilation.policy_profile import build_policy_profile
from moorage.controller.policy_permissions import NO_PERMISSIONS, PolicyPermissions
from moorage.errors import Fault, PolicyNotAllowed
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
    return build_allowed_profile(registry, defaults, policy)


def build_allowed_profile(registry: Registry, defaults: ProfileSettings, policy: SchedulingPolicy) -> Profile:
    """Build the profile of a policy without checking the operator's flags. Raise InvalidPolicy or UnknownPlugins."""
    return build_policy_profile(policy, registry, defaults, _faults_of_extenders(policy))


def check_extender(extender: Extender) -> list[Fault]:
    """Return the faults of an extender's URL and certificates. The location of a fault is relative to the extender."""
    return [*check_url(extender), *check_tls(extender)]


def _faults_of_extenders(policy: SchedulingPolicy) -> Iterator[Fault]:
    for index, extender in enumerate(policy.spec.extenders):
        for fault in check_extender(extender):
            yield fault.below("spec", "extenders", index)
