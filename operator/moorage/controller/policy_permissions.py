"""The rights that the operator's flags give policies: schedulerNames, canaries, extenders, and files for their TLS.

The author of a policy may be a tenant. So flags decide about everything that affects more than the policy's own pods.
The message of a refusal names the flag. This module only compares the paths of files; the runtime reads the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from moorage.api.policy_extender import PolicyExtender
from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME, SchedulingPolicy
from moorage.errors import Fault
from moorage.runtime.extenders.allowed_hosts import AllowedHosts
from moorage.runtime.tls.confined_file import path_below
from moorage.settings import Settings

FILE_FIELDS = {"ca_file": "caFile", "cert_file": "certFile", "key_file": "keyFile"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPermissions:
    """The permissions of all policies. The default allows nothing that needs a flag."""

    allow_default_scheduler: bool = False
    reserved_names: tuple[str, ...] = ()
    """Shell patterns. No policy may have a schedulerName that matches one of them."""
    forbid_canaries: bool = False
    extender_hosts: AllowedHosts = field(default_factory=AllowedHosts)
    extender_tls_dir: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> PolicyPermissions:
        """Return the permissions of the settings."""
        return cls(
            allow_default_scheduler=settings.allow_default_scheduler,
            reserved_names=settings.reserved_scheduler_names,
            forbid_canaries=settings.forbid_canaries,
            extender_hosts=AllowedHosts.parse(settings.policy_extenders),
            extender_tls_dir=settings.policy_extender_tls_dir,
        )

    def name_refusal(self, scheduler_name: str) -> str:
        """Return the reason why no policy may have a schedulerName; empty if a policy may have it."""
        if scheduler_name == DEFAULT_SCHEDULER_NAME and not self.allow_default_scheduler:
            return (
                f"{scheduler_name} is kube-scheduler's name: allowDefaultScheduler alone does not give it to a policy; "
                "the operator's administrator must also pass --allow-default-scheduler "
                "(chart value allowDefaultScheduler)"
            )
        for pattern in self.reserved_names:
            if fnmatchcase(scheduler_name, pattern):
                return (
                    f"schedulerName {scheduler_name} is reserved by {pattern!r} in the operator's flag "
                    "--reserved-scheduler-names; create a policy with another schedulerName"
                )
        return ""

    def faults_of(self, policy: SchedulingPolicy) -> Iterator[Fault]:
        """Yield a fault for each field of a policy that the flags do not allow."""
        if policy.spec.canary and self.forbid_canaries:
            message = (
                "the operator's administrator forbids canaries with --forbid-canaries (chart value forbidCanaries)"
            )
            yield Fault(("spec", "canary"), None, message)
        for index, extender in enumerate(policy.spec.extenders):
            for fault in self._extender_faults(extender):
                yield fault.below("spec", "extenders", index)

    def _extender_faults(self, extender: PolicyExtender) -> Iterator[Fault]:
        if not self.extender_hosts.entries:
            message = (
                "extenders in policies are not allowed; the operator's administrator allows hosts with "
                "--policy-extenders (chart value policyExtenders)"
            )
            yield Fault(("urlPrefix",), None, message)
        elif not self.extender_hosts.allow(extender.url_prefix):
            message = "the host is not allowed; the operator's flag --policy-extenders lists the allowed hosts"
            yield Fault(("urlPrefix",), None, message)
        for attribute, name in FILE_FIELDS.items():
            path = getattr(extender.tls_config, attribute, None)
            if path is not None and (message := self._file_refusal(path)):
                yield Fault(("tlsConfig", name), None, message)

    def _file_refusal(self, path: str) -> str:
        directory = self.extender_tls_dir
        if directory is None:
            return (
                "policies may name no files; use the data field, or let the operator's administrator set "
                "--policy-extender-tls-dir (chart value policyExtenderTlsSecrets)"
            )
        if path_below(directory, path) is None:
            return f"must be a path below {directory}, the operator's --policy-extender-tls-dir"
        return ""


NO_PERMISSIONS = PolicyPermissions()
