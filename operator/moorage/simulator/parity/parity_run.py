"""Runs parity cases: compares moorage's decisions with kube-scheduler's, field by field."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moorage.engine.scheduler import Scheduler
from moorage.errors import ConfigurationError, UnknownPlugin
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.simulator.parity.case_cluster import incoming_pod, post_objects, profiles_of
from moorage.simulator.parity.case_decision import CaseDecision
from moorage.simulator.parity.cases import Case, read_cases

FIELDS = (
    "preEnqueue",
    "prefilter",
    "prefilterResult",
    "filter",
    "filterAll",
    "feasible",
    "scores",
    "skippedScore",
    "weights",
    "total",
    "best",
    "notScored",
    "scoreError",
    "nominatedOnly",
    "scheduleError",
    "fitErrorMessage",
    "fitErrorMessageFull",
    "unschedulablePlugins",
    "preemption",
    "configError",
    "error",
)
"""The compared fields, in the order of a scheduling cycle."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs between the two decisions."""

    path: str
    """The place, such as `filter.n03.code`."""
    expected: Any
    """kube-scheduler's value; None if it has none."""
    actual: Any

    def __str__(self) -> str:
        """Render the place and both values."""
        return f"{self.path}: kube-scheduler {self.expected!r}, moorage {self.actual!r}"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A case in which the decisions differ."""

    case: Case
    differences: tuple[Difference, ...]


@dataclass(slots=True)
class ParityReport:
    """The result of a run."""

    cases: Counter[str] = field(default_factory=Counter)
    """The number of cases by group."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of cases with a mismatch, by group and field."""
    mismatches: list[Mismatch] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    """The ids of cases that differ on purpose."""

    @property
    def total(self) -> int:
        """The number of cases."""
        return self.cases.total()

    @property
    def agreeing(self) -> int:
        """The number of cases that agree in every field."""
        return self.total - len(self.mismatches) - len(self.deviations)


def run_parity(paths: Iterable[Path], deviations: Mapping[str, str] | None = None) -> ParityReport:
    """Run all cases of the files; `deviations` maps the ids of cases that differ on purpose to the reasons."""
    report = ParityReport()
    registries: dict[tuple[tuple[str, bool], ...], Registry] = {}
    plain = Registry.discover()
    for path in paths:
        for case in read_cases(path):
            gates: dict[str, bool] = case.given.get("featureGates") or {}
            registry = registries.setdefault(tuple(sorted(gates.items())), Registry(plain.classes, gates))
            _record(case, _decide(case, registry), deviations or {}, report)
    return report


def _decide(case: Case, registry: Registry) -> dict[str, Any]:
    """Decide a case. Turn an exception into a mismatch of this case, so that the other cases still run."""
    try:
        return decide(case, registry)
    except Exception as fault:  # noqa: BLE001 - one case must not end the run
        return {"error": f"{type(fault).__name__}: {fault}"}


def decide(case: Case, registry: Registry) -> dict[str, Any]:
    """Return moorage's decision in the format of the case's `expect`."""
    try:
        profiles = {profile.name: profile for profile in profiles_of(case, registry)}
    except (ConfigurationError, UnknownPlugin) as refusal:
        return {"configError": str(refusal)}
    decoder = Decoder()
    scheduler = Scheduler(0, profiles.values())
    post_objects(case, scheduler, decoder)
    pod = incoming_pod(case, decoder)
    if pod.scheduler_name not in profiles:
        return {"configError": f"no profile is named {pod.scheduler_name}"}
    return CaseDecision(profiles[pod.scheduler_name], pod, scheduler.snapshot).as_json()


def _record(case: Case, actual: Mapping[str, Any], deviations: Mapping[str, str], report: ParityReport) -> None:
    report.cases[case.group] += 1
    differences = tuple(compare(case.expected, actual))
    if not differences:
        return
    if case.id in deviations:
        report.deviations.append(case.id)
        return
    report.mismatches.append(Mismatch(case, differences))
    for name in {difference.path.partition(".")[0] for difference in differences}:
        report.fields[case.group, name] += 1


def compare(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences between two decisions. Refusals of a configuration are equal, even with different texts."""
    if "configError" in expected and "configError" in actual:
        return
    if "error" in actual:
        yield Difference("error", None, actual["error"])
        return
    for name in FIELDS:
        yield from _differences(name, expected.get(name), actual.get(name))


def _differences(path: str, expected: Any, actual: Any) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*expected, *actual]):
            yield from _differences(f"{path}.{key}", expected.get(key), actual.get(key))
    elif expected != actual and not (_is_empty(expected) and _is_empty(actual)):
        yield Difference(path, expected, actual)


def _is_empty(part: Any) -> bool:
    """Return whether a part is equivalent to an absent part. The number 0 is not equivalent."""
    return part is None or part is False or part in ("", [], {})
