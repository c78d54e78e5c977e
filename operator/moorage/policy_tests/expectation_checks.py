"""Compares the results of a run with the expectations of a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from moorage.policy_tests.engine_run import EngineRun, PodResult
from moorage.policy_tests.node_places import NodePlaces
from moorage.policy_tests.policy_test_models import PodExpectation

SHOWN_PODS = 10


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """An expectation that does not hold."""

    text: str
    """A text with the expected and the actual result."""
    details: tuple[str, ...] = ()
    """The pods that do not meet the expectation, one in each line."""


@dataclass(frozen=True, slots=True)
class ExpectationChecks:
    """Checks expectations about one run."""

    run: EngineRun
    places: NodePlaces

    def failures(self, expected: PodExpectation) -> Iterator[CheckFailure]:
        """Yield the parts of an expectation that do not hold."""
        pods = self._pods(expected)
        if not pods:
            yield CheckFailure(f"no pod matches {expected.pods}", self.lines([*self.run.results.values()]))
            return
        for check in (_numbers, _places, _counts, _skews, _refusals, _preemption, _order):
            yield from check(self, expected, pods)

    def _pods(self, expected: PodExpectation) -> list[PodResult]:
        in_place = expected.evicted is not None
        return [
            pod
            for pod in self.run.results.values()
            if (pod.arrives or in_place) and any(fnmatchcase(name, expected.pods) for name in (pod.name, pod.key))
        ]

    def lines(self, pods: Sequence[PodResult]) -> tuple[str, ...]:
        """Return a line for each pod: the pod's node, or why the pod has no node."""
        shown = [f"{pod.name}: {self._describe(pod)}" for pod in pods[:SHOWN_PODS]]
        more = [f"... and {len(pods) - SHOWN_PODS} more"] if len(pods) > SHOWN_PODS else []
        return (*shown, *more)

    def _describe(self, pod: PodResult) -> str:
        return self.places.describe(pod.node) if pod.node else f"no node: {pod.message}"


def _numbers(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    scheduled, pending = [pod for pod in pods if pod.node], [pod for pod in pods if not pod.node]
    for name, number, found, others in (
        ("scheduled", expected.scheduled, scheduled, pending),
        ("pending", expected.pending, pending, scheduled),
    ):
        if number is not None and len(found) != number:
            text = f"{expected.pods}: {name} must be {number}, but is {len(found)}"
            yield CheckFailure(text, checks.lines(others if len(found) < number else found))
    used = {pod.node for pod in scheduled}
    if expected.different_nodes is not None and len(used) != expected.different_nodes:
        text = f"{expected.pods}: the pods must use {expected.different_nodes} nodes, but use {len(used)}"
        yield CheckFailure(text, checks.lines(pods))


def _places(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    wanted = {
        "node": expected.node,
        "zone": expected.zone,
        "instanceType": expected.instance_type,
        "lifecycle": expected.lifecycle,
        **expected.node_labels,
    }
    for field, pattern in wanted.items():
        if pattern is None:
            continue
        stayed = [pod for pod in pods if not pod.evicted]
        wrong = [pod for pod in stayed if not pod.node or not _matches(checks.places.value(pod.node, field), pattern)]
        if wrong:
            text = f"{expected.pods}: {field} must be {pattern}, but {len(wrong)} of {len(pods)} pods differ"
            yield CheckFailure(text, checks.lines(wrong))


def _matches(value: str, pattern: str) -> bool:
    return not value if pattern == "!*" else bool(value) and fnmatchcase(value, pattern)


def _counts(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    nodes = [pod.node for pod in pods if pod.node]
    wanted = {
        "node": expected.nodes,
        "zone": expected.zones,
        "instanceType": expected.instance_types,
        "lifecycle": expected.lifecycles,
    }
    for field, numbers in wanted.items():
        found = checks.places.counts(field, nodes)
        wrong = {value: number for value, number in numbers.items() if found[value] != number}
        if wrong:
            text = f"{expected.pods}: the numbers of pods by {field} differ"
            details = (f"{value}: must be {number}, but is {found[value]}" for value, number in wrong.items())
            yield CheckFailure(text, (*details, *checks.lines(pods)))


def _skews(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    for field, limit in expected.max_skew.items():
        found = checks.places.counts(field, [pod.node for pod in pods if pod.node])
        skew = max(found.values(), default=0) - min(found.values(), default=0)
        if skew > limit:
            text = f"{expected.pods}: the skew by {field} must be at most {limit}, but is {skew}"
            yield CheckFailure(text, tuple(f"{value}: {number}" for value, number in sorted(found.items())))


def _refusals(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    text = expected.unschedulable
    if text is not None:
        wrong = [pod for pod in pods if pod.node or text not in pod.message]
        if wrong:
            what = f"{expected.pods}: the pods must have no node, because of {text!r}, but {len(wrong)} differ"
            yield CheckFailure(what, checks.lines(wrong))
    if expected.rejected_by:
        wrong = [pod for pod in pods if pod.node or not pod.plugins.issuperset(expected.rejected_by)]
        if wrong:
            plugins = ", ".join(expected.rejected_by)
            details = (
                f"{pod.name}: " + (f"on {pod.node}" if pod.node else f"rejected by {', '.join(sorted(pod.plugins))}")
                for pod in wrong[:SHOWN_PODS]
            )
            yield CheckFailure(f"{expected.pods}: {plugins} must reject the pods, but {len(wrong)} differ", (*details,))


def _preemption(
    checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]
) -> Iterator[CheckFailure]:
    if expected.nominated is not None:
        wrong = [pod for pod in pods if not _matches(pod.nominated, expected.nominated)]
        if wrong:
            details = (f"{pod.name}: nominated to {pod.nominated or 'no node'}" for pod in wrong[:SHOWN_PODS])
            text = f"{expected.pods}: the pods must be nominated to {expected.nominated}, but {len(wrong)} differ"
            yield CheckFailure(text, tuple(details))
    evicted = [pod for pod in pods if pod.evicted]
    if expected.evicted is not None and len(evicted) != expected.evicted:
        text = f"{expected.pods}: evicted must be {expected.evicted}, but is {len(evicted)}"
        yield CheckFailure(text, checks.lines(evicted or pods))


def _order(checks: ExpectationChecks, expected: PodExpectation, pods: Sequence[PodResult]) -> Iterator[CheckFailure]:
    if not expected.order:
        return
    keys = {pod.key: pod.name for pod in pods}
    tried = [keys[key] for key in checks.run.tried if key in keys and keys[key] in expected.order]
    if tried != list(expected.order):
        details = (f"must be: {', '.join(expected.order)}", f"but is:  {', '.join(tried)}")
        yield CheckFailure(f"{expected.pods}: the order of the pods differs", details)
