"""Linter: checks files with policies and KubeSchedulerConfigurations, and finds conflicts between the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from moorage.api.v1alpha1 import KIND, SchedulingPolicy
from moorage.configuration.loading import load
from moorage.configuration.process_configuration import check_profile
from moorage.configuration.text_decoding import decode
from moorage.controller.policy_profiles import check_extender
from moorage.errors import ConfigurationError, Fault
from moorage.linting.finding import Finding, LintReport, Severity
from moorage.linting.policy_checks import PolicyChecks, scheduler_name_location
from moorage.linting.source_documents import SourceObject, objects_in
from moorage.outside_text import one_line

MAX_FILE_BYTES = 8 << 20


@dataclass(slots=True)
class Linter:
    """A checker of files. `read` returns the bytes of a file, or raises OSError."""

    checks: PolicyChecks
    read: Callable[[Path], bytes]
    cluster_policies: Sequence[Mapping[str, Any]] = ()
    """The policies that already exist in the cluster."""
    each_alone: bool = False
    """Whether each file is meant for a different cluster. Then files cannot conflict with each other."""
    report: LintReport = field(default_factory=LintReport)
    _names: dict[str, str] = field(default_factory=dict)
    """For each policy name, the file and line of the policy."""
    _scheduler_names: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For each schedulerName, the object that has this name, and its file and line."""

    def lint(self, files: Iterable[Path]) -> LintReport:
        """Check the files, and return all findings by file and line."""
        for file in files:
            self.report.files += 1
            if self.each_alone:
                self._names.clear()
                self._scheduler_names.clear()
            try:
                text = decode(self.read(file), file)
            except OSError as error:
                self._add(file, "error", error.strerror or str(error))
                continue
            except ConfigurationError as error:
                self._add_faults(file, None, "error", error.faults)
                continue
            for found in objects_in(text):
                self._lint_found(file, found)
        self.report.findings.sort(key=lambda finding: finding.order)
        return self.report

    def _lint_found(self, file: Path, found: SourceObject | tuple[int, ConfigurationError]) -> None:
        if isinstance(found, tuple):
            number, error = found
            for fault in error.faults:
                self._add(file, "error", fault.message, fault.line, document=number)
        elif found.kind == KIND:
            self.report.policies += 1
            self._lint_policy(file, found)
        else:
            self.report.configurations += 1
            self._lint_configuration(file, found)

    def _lint_policy(self, file: Path, found: SourceObject) -> None:
        policy, faults = self.checks.faults_of(dict(found.content))
        faults = [*found.own_faults, *faults]
        if policy is not None:
            faults += self._conflicts(file, found, policy)
        self._add_faults(file, found, "error", faults)
        if policy is not None and not faults:
            self._add_faults(file, found, "warning", self.checks.warnings_of(policy))

    def _conflicts(self, file: Path, found: SourceObject, policy: SchedulingPolicy) -> list[Fault]:
        """Return the conflicts of a policy with earlier files and with the cluster."""
        name, scheduler_name = policy.metadata.name, policy.scheduler_name
        place = f"{file}:{found.line_of(('metadata', 'name'))}"
        earlier = self._names.setdefault(name, place)
        if earlier != place:
            return [Fault(("metadata", "name"), None, f"{earlier} has a policy with this name already")]
        location = scheduler_name_location(policy)
        owner, where = self._scheduler_names.setdefault(scheduler_name, (f"the policy {name}", place))
        if where != place:
            message = (
                f"schedulerName {scheduler_name} belongs to {owner} ({where}); give this policy another schedulerName"
            )
            return [Fault(location, None, message)]
        return [*self._conflicts_with_cluster(policy)]

    def _conflicts_with_cluster(self, policy: SchedulingPolicy) -> Iterable[Fault]:
        name, scheduler_name = policy.metadata.name, policy.scheduler_name
        for other in self.cluster_policies:
            other_name = str(other["metadata"]["name"])
            taken = str((other.get("spec") or {}).get("schedulerName") or other_name)
            if other_name == name and taken != scheduler_name:
                message = (
                    f"schedulerName is immutable, and the cluster's policy {name} has {taken}; create another policy"
                )
                yield Fault(scheduler_name_location(policy), None, message)
            elif other_name != name and taken == scheduler_name and other_name not in self._names:
                message = (
                    f"schedulerName {scheduler_name} belongs to the cluster's policy {other_name}; "
                    "give this policy another schedulerName"
                )
                yield Fault(scheduler_name_location(policy), None, message)

    def _lint_configuration(self, file: Path, found: SourceObject) -> None:
        checks = self.checks
        try:
            loaded = load(
                found.text,
                known_plugins=checks.registry.classes,
                check_profile=partial(check_profile, checks.registry),
                check_extender=check_extender,
                allow_default_scheduler=checks.permissions.allow_default_scheduler,
            )
        except ConfigurationError as error:
            self._add_faults(file, found, "error", error.faults)
            return
        self._add_faults(file, found, "warning", loaded.warnings)
        for index, profile in enumerate(loaded.configuration.profiles):
            location = ("profiles", index, "schedulerName")
            place, name = f"{file}:{found.line_of(location)}", str(profile.scheduler_name)
            owner, where = self._scheduler_names.setdefault(name, ("a profile of the configuration", place))
            if where != place:
                message = f"schedulerName {name} belongs to {owner} ({where}); only one of them can have the name"
                self._add_faults(file, found, "error", [Fault(location, None, message)])

    def _add_faults(self, file: Path, found: SourceObject | None, severity: Severity, faults: Iterable[Fault]) -> None:
        for fault in faults:
            line = fault.line or (found.line_of(fault.location) if found else None)
            subject = f"{found.kind} {found.name}".rstrip() if found else ""
            number = found and found.number
            self._add(file, severity, fault.message, line, document=number, subject=subject, path=fault.path)

    def _add(self, file: Path, severity: Severity, message: str, line: int | None = None, **place: Any) -> None:
        finding = Finding(file=str(file), severity=severity, message=one_line(message), line=line, **place)
        self.report.findings.append(finding)
