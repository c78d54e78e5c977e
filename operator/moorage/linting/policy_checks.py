"""The faults and warnings of one policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from moorage.api.policy_size import size_faults
from moorage.api.v1alpha1 import API_VERSION, SchedulingPolicy
from moorage.api.validation_faults import message_of
from moorage.compilation.node_facts import NodeFacts, ReadNodeFacts
from moorage.compilation.node_warnings import node_warnings
from moorage.compilation.presets import expand_preset
from moorage.compilation.spec_warnings import spec_warnings
from moorage.configuration.field_hints import FieldHints
from moorage.configuration.tolerant_validation import TolerantValidation
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_allowed_profile
from moorage.errors import Fault, InvalidPolicy, Location, UnknownPlugins
from moorage.framework.profile import ProfileSettings
from moorage.framework.registry import Registry

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH = re.compile(r"spec(\.[A-Za-z]\w*|\[\d+\])*")
_STEP = re.compile(r"\.?(\w+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChecks:
    """A checker of policies, with the plugins and permissions of an operator."""

    registry: Registry
    permissions: PolicyPermissions
    nodes: NodeFacts | None = None
    """The nodes of the cluster for which the policy is meant; None if they are unknown."""

    def faults_of(self, content: dict[str, Any]) -> tuple[SchedulingPolicy | None, list[Fault]]:
        """Return the policy, and all faults of the policy. If a fault prevents parsing, the policy is None."""
        fields = {key: value for key, value in content.items() if key != "status"}
        validation = TolerantValidation(SchedulingPolicy, fields)
        faults = [*_header_faults(content), *size_faults(content), *_faults_of_fields(validation)]
        policy = validation.remainder
        if policy is not None:
            seen = {fault.location for fault in faults}
            faults += [fault for fault in self._faults_of_model(policy, validation) if fault.location not in seen]
        return policy, faults

    def warnings_of(self, policy: SchedulingPolicy) -> Iterator[Fault]:
        """Yield the warnings about a valid policy. The location of a warning is the field that its text begins with."""
        spec = expand_preset(policy.spec)
        found = list(spec_warnings(spec, self.registry.policy_plugins()))
        if self.nodes is not None and self.nodes.are_known:
            found += node_warnings(spec, ReadNodeFacts(self.nodes))
        for warning in found:
            match = _PATH.match(warning.message)
            yield Fault(location_of(match[0]) if match else (), None, warning.message)

    def _faults_of_model(
        self, policy: SchedulingPolicy, validation: TolerantValidation[SchedulingPolicy]
    ) -> Iterator[Fault]:
        if not _SUBDOMAIN.fullmatch(policy.metadata.name):
            message = "must have lower case letters, digits, '-' and '.' only, and begin and end with a letter or digit"
            yield Fault(("metadata", "name"), None, message)
        if refusal := self.permissions.name_refusal(policy.scheduler_name):
            yield Fault(scheduler_name_location(policy), None, refusal)
        found = [*self.permissions.faults_of(policy)]
        try:
            build_allowed_profile(self.registry, ProfileSettings(), policy)
        except (InvalidPolicy, UnknownPlugins) as error:
            found += error.faults
        for fault in found:
            yield replace(fault, location=validation.original(fault.location))


def _header_faults(content: dict[str, Any]) -> Iterator[Fault]:
    if "apiVersion" not in content:
        yield Fault(("apiVersion",), None, f"is required; write {API_VERSION}")


def _faults_of_fields(validation: TolerantValidation[SchedulingPolicy]) -> Iterator[Fault]:
    hints = _hints() if validation.errors else None
    for location, details in validation.errors:
        yield Fault(location, None, message_of(details) + (hints.for_error(location, details["type"]) if hints else ""))


def scheduler_name_location(policy: SchedulingPolicy) -> Location:
    """Return the location of the field that sets the schedulerName of a policy."""
    return ("spec", "schedulerName") if policy.spec.scheduler_name else ("metadata", "name")


def location_of(path: str) -> Location:
    """Return the location for a path such as `spec.zones.prefer[1]`."""
    return tuple(int(index) if index else name for name, index in _STEP.findall(path))


@cache
def _hints() -> FieldHints:
    return FieldHints(SchedulingPolicy)
