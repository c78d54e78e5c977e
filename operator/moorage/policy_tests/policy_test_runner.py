"""Runs files of policy tests, and collects the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from moorage.api.v1alpha1 import DEFAULT_SCHEDULER_NAME, KIND, parse_policy
from moorage.configuration.loading import load
from moorage.configuration.process_configuration import check_profile, configure
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.controller.policy_profiles import build_allowed_profile, check_extender
from moorage.errors import Fault, InvalidInput, MoorageError
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.linting.linter import Linter
from moorage.linting.policy_checks import PolicyChecks
from moorage.linting.source_documents import SourceObject, objects_in
from moorage.policy_tests.engine_run import run_scene
from moorage.policy_tests.expectation_checks import CheckFailure, ExpectationChecks
from moorage.policy_tests.node_places import NodePlaces
from moorage.policy_tests.placement_snapshots import (
    Placements,
    difference,
    placements_of,
    read_snapshots,
    write_snapshots,
)
from moorage.policy_tests.policy_test_models import PolicyTestCase
from moorage.policy_tests.policy_test_reader import LoadedTests, in_file, load_tests, read_text
from moorage.policy_tests.policy_test_scene import build_scene
from moorage.runtime.extenders.allowed_hosts import AllowedHosts
from moorage.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureAt:
    """A failure, and the line of the expectation that failed."""

    failure: CheckFailure
    line: int | None = None


@dataclass(slots=True, kw_only=True)
class PolicyTestResult:
    """The result of one test, or of a file that cannot be read."""

    file: Path
    name: str
    line: int | None = None
    pods: int = 0
    seconds: float = 0.0
    failures: list[FailureAt] = field(default_factory=list)
    errors: tuple[str, ...] = ()
    """Why the test could not run."""

    @property
    def has_passed(self) -> bool:
        """Whether all expectations hold."""
        return not self.failures and not self.errors

    def lines(self) -> Iterator[str]:
        """Yield the errors and failures as lines for users."""
        yield from self.errors
        for each in self.failures:
            place = f"{self.file}:{each.line or self.line}"
            yield f"{place}: {each.failure.text}"
            yield from (f"    {detail}" for detail in each.failure.details)


@dataclass(frozen=True, slots=True)
class PolicyTestRunner:
    """Runs tests with the plugins of a registry."""

    registry: Registry
    update: bool = False
    """Whether to write snapshots instead of comparing with them."""

    def run_files(self, files: Iterable[Path]) -> Iterator[PolicyTestResult]:
        """Run all tests of the files. A file that cannot be read gives one result, with the errors."""
        for file in files:
            try:
                yield from self._run_file(load_tests(file))
            except InvalidInput as error:
                yield PolicyTestResult(file=file, name=file.name, errors=tuple(map(str, error.faults)))

    def _run_file(self, tests: LoadedTests) -> Iterator[PolicyTestResult]:
        profiles = self._profiles(tests)
        snapshots = read_snapshots(tests.path)
        written: dict[str, Placements] = {}
        for index, case in enumerate(tests.file.tests):
            result = PolicyTestResult(file=tests.path, name=case.name, line=tests.line_of("tests", index))
            started = perf_counter()
            try:
                placements = self._run_case(tests, index, case, profiles, snapshots, result)
                if case.snapshot:
                    written[case.name] = placements
            except InvalidInput as error:
                result.errors = tuple(map(str, error.faults))
            except MoorageError as error:
                result.errors = (f"{tests.path}:{result.line}: {error}",)
            result.seconds = perf_counter() - started
            yield result
        if self.update:
            write_snapshots(tests.path, written)

    def _run_case(  # noqa: PLR0913, PLR0917 - called once; the parts of one test
        self,
        tests: LoadedTests,
        index: int,
        case: PolicyTestCase,
        profiles: list[Profile],
        snapshots: dict[str, Placements],
        result: PolicyTestResult,
    ) -> Placements:
        scene = build_scene(tests, case, profiles[0].name)
        run = run_scene(scene, profiles, case.seed)
        checks = ExpectationChecks(run, NodePlaces.of(scene.nodes()))
        result.pods = sum(pod.arrives for pod in run.results.values())
        for number, expected in enumerate(case.expect):
            line = tests.line_of("tests", index, "expect", number)
            result.failures += [FailureAt(failure=each, line=line) for each in checks.failures(expected)]
        placements = placements_of(run.results.values())
        if case.snapshot and not self.update:
            failure = difference(snapshots.get(case.name), placements)
            if failure is not None:
                line = tests.line_of("tests", index, "snapshot")
                result.failures.append(FailureAt(failure=failure, line=line))
        return placements

    def _profiles(self, tests: LoadedTests) -> list[Profile]:
        """Return the profiles of the policies, and kube-scheduler's default profile.

        Raise InvalidInput with all faults of policies.
        """
        paths = [tests.resolve(name) for name in tests.file.policies]
        self._check(paths)
        found: list[Profile] = []
        for index, path in enumerate(paths):
            of_file = [profile for each in objects_in(read_text(path)) for profile in self._profiles_of(each)]
            if not of_file:
                fault = Fault(("policies", index), tests.line_of("policies", index), f"{path} has no policies")
                raise in_file(tests.path, [fault])
            found += of_file
        if all(profile.name != DEFAULT_SCHEDULER_NAME for profile in found):
            found.append(self.registry.build_profile(ProfileSpec(scheduler_name=DEFAULT_SCHEDULER_NAME)))
        return found

    def _check(self, paths: list[Path]) -> None:
        permissions = PolicyPermissions(allow_default_scheduler=True, extender_hosts=_EveryHost((("*", None),)))
        linter = Linter(PolicyChecks(registry=self.registry, permissions=permissions), Path.read_bytes)
        errors = [str(each) for each in linter.lint(paths).findings if each.severity == "error"]
        if errors:
            raise InvalidInput([Fault((), None, error) for error in errors])

    def _profiles_of(self, found: SourceObject | tuple[int, Any]) -> list[Profile]:
        assert isinstance(found, SourceObject), "the linter refuses documents that cannot be parsed"
        if found.kind == KIND:
            return [build_allowed_profile(self.registry, ProfileSettings(), parse_policy(found.content))]
        loaded = load(
            found.text,
            known_plugins=self.registry.classes,
            check_profile=partial(check_profile, self.registry),
            check_extender=check_extender,
            allow_default_scheduler=True,
        )
        return list(configure(Settings(), loaded, self.registry).profiles)


class _EveryHost(AllowedHosts):
    """Allows extenders on all hosts, because tests do not call them."""

    def allow(self, url: str) -> bool:
        """Return True."""
        del url
        return True
