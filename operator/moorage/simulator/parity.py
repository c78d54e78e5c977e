"""Runs parity cases: what moorage decides is compared with what kube-scheduler decided, field by field."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moorage.engine.scheduler import Scheduler
from moorage.errors import ConfigurationError, UnknownPlugin
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.simulator.case_cluster import incoming_pod, post_objects, profiles_of
from moorage.simulator.case_decision import CaseDecision
from moorage.simulator.cases import Case, read_cases

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
"""What is compared, in the order in which a cycle comes to it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the decisions differ."""

    path: str
    """Such as `filter.n03.code`."""
    expected: Any
    """None: kube-scheduler has nothing there."""
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
    """The outcome of a run."""

    cases: Counter[str] = field(default_factory=Counter)
    """Cases by group."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Cases with a mismatch by group and field."""
    mismatches: list[Mismatch] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    """Cases that differ on purpose."""

    @property
    def total(self) -> int:
        """How many cases were run."""
        return self.cases.total()

    @property
    def agreeing(self) -> int:
        """How many agree in every field."""
        return self.total - len(self.mismatches) - len(self.deviations)


def run_parity(paths: Iterable[Path], deviations: Mapping[str, str] | None = None) -> ParityReport:
    """Run all cases of these files; `deviations` are the ids of those that differ on purpose, with the reasons."""
    report = ParityReport()
    registries: dict[tuple[tuple[str, bool], ...], Registry] = {}
    plain = Registry.discover()
    for path in paths:
        for case in read_cases(path):
            gates: dict[str, bool] = case.given.get("featureGates") or {}
            registry = registries.setdefault(tuple(sorted(gates.items())), Registry(plain.classes, gates))
            _account(case, _decide(case, registry), deviations or {}, report)
    return report


def _decide(case: Case, registry: Registry) -> dict[str, Any]:
    """Decide a case; a fault is a mismatch of this one, so that thousands of others are still compared."""
    try:
        return decide(case, registry)
    except Exception as fault:  # noqa: BLE001 - the border of a case, as the scheduling loop is that of a pod
        return {"error": f"{type(fault).__name__}: {fault}"}


def decide(case: Case, registry: Registry) -> dict[str, Any]:
    """Return moorage's decision in the words of the case's `expect`."""
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


def _account(case: Case, actual: Mapping[str, Any], deviations: Mapping[str, str], report: ParityReport) -> None:
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
    """Yield every place where two decisions differ; of a refused configuration only that it was refused counts."""
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
    """Whether a part says nothing, so that it may as well be absent; the number 0 says something."""
    return part is None or part is False or part in ("", [], {})
