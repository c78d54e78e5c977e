"""Reads the policies of a simulation: SchedulingPolicy objects and KubeSchedulerConfigurations, from files.

A simulation has one profile for each policy. A simulation calls no extenders and schedules all pods in one namespace.
So the fields `extenders`, `allowedNamespaces` and `paused` have no effect. In a simulation, a policy in mode Shadow
places pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import Struct

from moorage.api.v1alpha1 import KIND as POLICY_KIND
from moorage.api.v1alpha1 import SchedulingPolicy, parse_policy
from moorage.compilation.policy_profile import build_policy_profile
from moorage.configuration.content_reader import read_content
from moorage.configuration.documents import document_texts
from moorage.configuration.loading import load
from moorage.configuration.located_content import LocatedContent
from moorage.configuration.process_configuration import check_profile, configure
from moorage.configuration.scheduler_configuration import KIND as CONFIGURATION_KIND
from moorage.configuration.text_decoding import decode
from moorage.errors import ConfigurationError, Fault, InvalidInput, InvalidPolicy, UnknownPlugin, UnknownPlugins
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.limited_file import read_limited
from moorage.settings import Settings

MAX_FILE_BYTES = 1 << 20
PIPE_SECONDS = 10.0
BASELINE = "kube-scheduler"
"""The name of the default profile in the results."""


class PolicyText(Struct, frozen=True):
    """One document of a policy file.

    A profile cannot be sent to another process, so each process builds it from the text.
    """

    file: str
    text: str
    """Empty for the baseline."""


class NamedProfile(Struct, frozen=True):
    """A profile of a simulation, and its name in the results."""

    name: str
    profile: Profile
    file: str = ""
    """The file that the profile is from; empty for the baseline."""
    warnings: tuple[str, ...] = ()


class ProfileBuilder:
    """Builds the profiles of policy files."""

    def __init__(self, registry: Registry, percentage_of_nodes_to_score: int) -> None:
        """Use this percentage for profiles that do not set percentageOfNodesToScore."""
        self._registry = registry
        self._defaults = ProfileSettings(percentage_of_nodes_to_score=percentage_of_nodes_to_score)

    def baseline(self) -> NamedProfile:
        """Return kube-scheduler's default profile."""
        spec = ProfileSpec(scheduler_name=BASELINE, settings=self._defaults)
        return NamedProfile(BASELINE, self._registry.build_profile(spec))

    def build_all(self, files: Sequence[Path]) -> list[NamedProfile]:
        """Return the baseline and the profiles of all files. Raise InvalidInput with the faults of all files."""
        found = [self.baseline()]
        faults: list[Fault] = []
        for file in files:
            try:
                found += self._of_file(file)
            except InvalidInput as error:
                faults += error.faults
        faults += _repeated_names(found)
        if faults:
            raise InvalidInput(faults)
        return found

    def _of_file(self, file: Path) -> list[NamedProfile]:
        try:
            text = decode(read_limited(file, MAX_FILE_BYTES, PIPE_SECONDS), file)
        except ConfigurationError as error:
            raise _in_file(file, error.faults) from error
        except OSError as error:
            raise _in_file(file, [Fault((), None, str(error.strerror or error))]) from error
        documents = list(document_texts(text))
        if not documents:
            raise _in_file(file, [Fault((), None, f"the file is empty; it must hold a {POLICY_KIND}")])
        found: list[NamedProfile] = []
        faults: list[Fault] = []
        for document in documents:
            try:
                found += self._of_document(file, document)
            except InvalidInput as error:
                faults += error.faults
        if faults:
            raise InvalidInput(faults)
        return found

    def _of_document(self, file: Path, text: str) -> list[NamedProfile]:
        try:
            source = read_content(text)
            kind = source.content.get("kind") if isinstance(source.content, Mapping) else None
            if kind == CONFIGURATION_KIND:
                return list(self._of_configuration(file, text))
            if kind == POLICY_KIND:
                return [self._of_policy(file, source)]
        except ConfigurationError as error:
            raise _in_file(file, error.faults) from error
        message = f"must be {POLICY_KIND} or {CONFIGURATION_KIND}" + (f", not {kind!r}" if kind else "")
        raise _in_file(file, [source.fault(("kind",), message)])

    def _of_configuration(self, file: Path, text: str) -> Iterator[NamedProfile]:
        loaded = load(
            text,
            known_plugins=self._registry.classes,
            check_profile=partial(check_profile, self._registry),
            allow_default_scheduler=True,
        )
        configuration = loaded.configuration
        if "percentage_of_nodes_to_score" not in configuration.model_fields_set:
            percentage = self._defaults.percentage_of_nodes_to_score
            configuration = configuration.model_copy(update={"percentage_of_nodes_to_score": percentage})
        if not configuration.profiles:
            raise ConfigurationError([Fault(("profiles",), None, "the file has no profiles; name at least one")])
        for profile in configure(Settings(), replace(loaded, configuration=configuration), self._registry).profiles:
            yield _simulated(profile.name, profile, file)

    def _of_policy(self, file: Path, source: LocatedContent) -> NamedProfile:
        if source.faults:
            raise _in_file(file, source.faults)
        try:
            policy: SchedulingPolicy = parse_policy(source.content)
            profile = build_policy_profile(policy, self._registry, self._defaults)
        except (InvalidPolicy, UnknownPlugins) as error:
            faults = [replace(fault, line=source.line_of(fault.location)) for fault in error.faults]
            raise _in_file(file, faults) from error
        except UnknownPlugin as error:
            raise _in_file(file, [Fault((), None, str(error))]) from error
        return _simulated(policy.metadata.name, profile, file)


def _simulated(name: str, profile: Profile, file: Path) -> NamedProfile:
    """Return the profile without the settings that a simulation ignores, and warnings about these settings."""
    settings = profile.settings
    without = {
        "extenders": bool(settings.extenders),
        "allowedNamespaces": settings.allowed_namespaces is not None,
        "paused": settings.paused,
    }
    warnings = tuple(f"{file}: {name}: the simulation ignores {field}" for field, is_set in without.items() if is_set)
    settings = replace(settings, extenders=(), allowed_namespaces=None, paused=False, shadow_of="")
    return NamedProfile(name, replace(profile, settings=settings), str(file), warnings)


def _repeated_names(found: Sequence[NamedProfile]) -> Iterator[Fault]:
    files: dict[str, str] = {}
    for each in found:
        if each.name in files:
            other = files[each.name] or "the baseline"
            yield Fault((), None, f"{each.file}: the name {each.name!r} is taken by {other}; rename one of them")
        files.setdefault(each.name, each.file)


def _in_file(file: Path, faults: Sequence[Fault]) -> InvalidInput:
    """Return the faults with the name of the file, such as `gpu.yaml:12: spec.preset: must be ...`."""
    return InvalidInput([Fault((), None, _with_file(file, fault)) for fault in faults])


def _with_file(file: Path, fault: Fault) -> str:
    place = f"{file}:{fault.line}" if fault.line else f"{file}"
    return ": ".join([place, *([fault.path] if fault.location else []), fault.message])
