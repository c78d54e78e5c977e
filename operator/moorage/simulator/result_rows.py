"""The rows of the tables that compare policies: in the terminal and on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import Simulation

NAMES = {"cpu": "cpu", "memory": "memory", "nvidia.com/gpu": "GPUs"}
"""The names of resources in tables."""
SHOWN_REASONS = 6
SHOWN_VALUES = 12
"""The limit of rows for the values of one field of the nodes file."""


class ResultRow(Struct, frozen=True):
    """A label, and one text for each policy."""

    label: str
    cells: tuple[str, ...]


class Section(Struct, frozen=True):
    """Rows about one subject."""

    title: str
    rows: tuple[ResultRow, ...]


def sections_of(simulation: Simulation) -> Iterator[Section]:
    """Yield the sections that have rows."""
    results = simulation.results
    rows_by_title = {
        "tasks": _tasks(results),
        f"{NAMES[_marked(results)]} allocated, % (by % asked for)": _marks(results),
        "in use at the busiest moment, %" if simulation.tasks.is_trace else "in use, %": _use(results),
        **dict(_groups(results)),
        "stranded, %": _by_resource(results, lambda result: result.stranded),
        "skew": _skew(results),
        "waiting, seconds": _waiting(results),
        "cost": _cost(results),
    }
    for title, rows in rows_by_title.items():
        found = tuple(rows)
        if found:
            yield Section(title, found)


def nodes_text(count: int) -> str:
    """Return a number of nodes as text."""
    return f"{count:,} node{'' if count == 1 else 's'}"


def _row(label: str, results: Sequence[PolicyResult], text: Callable[[PolicyResult], str]) -> ResultRow:
    return ResultRow(label, tuple(text(result) for result in results))


def _tasks(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    yield _row("placed", results, lambda result: f"{result.placed:,}")
    yield _row("not placed", results, lambda result: f"{result.unplaced:,}")
    totals: Counter[str] = Counter()
    for result in results:
        totals.update(result.reasons)
    for reason, _ in totals.most_common(SHOWN_REASONS):
        yield ResultRow(f"  {reason}", tuple(f"{result.reasons.get(reason, 0):,}" for result in results))
    if any(result.preemptions for result in results):
        yield _row("preemptions", results, lambda result: f"{result.preemptions:,}")


def _marks(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    marks = [result.allocated.get(_marked(results), {}) for result in results]
    for mark in marks[0]:
        yield ResultRow(f"{mark}%", tuple(_percent(each.get(mark)) for each in marks))


def _marked(results: Sequence[PolicyResult]) -> str:
    """Return the resource whose requested share is measured."""
    return "nvidia.com/gpu" if "nvidia.com/gpu" in results[0].use else "cpu"


def _use(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    return _by_resource(results, lambda result: result.use)


def _by_resource(results: Sequence[PolicyResult], shares: Callable[[PolicyResult], object]) -> Iterator[ResultRow]:
    for name, shown in NAMES.items():
        found = [shares(result) for result in results]
        if any(isinstance(each, dict) and name in each for each in found):
            yield ResultRow(shown, tuple(_percent(each[name] if isinstance(each, dict) else None) for each in found))


def _groups(results: Sequence[PolicyResult]) -> Iterator[tuple[str, Iterator[ResultRow]]]:
    resource = "nvidia.com/gpu" if any(result.use.get("nvidia.com/gpu") for result in results) else "cpu"
    for field in results[0].groups:
        yield f"{NAMES[resource]} in use by {field.replace('_', ' ')}, %", _values(results, field, resource)


def _values(results: Sequence[PolicyResult], field: str, resource: str) -> Iterator[ResultRow]:
    values = results[0].groups[field]
    largest = sorted(values, key=lambda value: -values[value].nodes)[:SHOWN_VALUES]
    for value in sorted(largest):
        label = f"{value} ({nodes_text(values[value].nodes)})"
        yield ResultRow(label, tuple(_percent(each.groups[field][value].percent.get(resource)) for each in results))
    if len(values) > len(largest):
        yield ResultRow(f"... and {len(values) - len(largest)} more", tuple("" for _ in results))


def _skew(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    yield _row("between nodes: std. dev. of %", results, lambda result: f"{result.skew['nodes_percent']:.1f}")
    if "zones_pods" in results[0].skew:
        yield _row("between zones: pods", results, lambda result: f"{result.skew['zones_pods']:,.0f}")


def _waiting(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    waits = [result.waiting for result in results if result.waiting]
    if len(waits) == len(results):
        yield ResultRow("p50", tuple(f"{each.p50:,.1f}" for each in waits))
        yield ResultRow("p95", tuple(f"{each.p95:,.1f}" for each in waits))
        yield ResultRow("p99", tuple(f"{each.p99:,.1f}" for each in waits))


def _cost(results: Sequence[PolicyResult]) -> Iterator[ResultRow]:
    costs = [result.cost for result in results if result.cost]
    if len(costs) == len(results):
        unit = "in all" if costs[0].is_total else "an hour"
        yield ResultRow(f"nodes with pods, {unit}", tuple(f"{each.of_used_nodes:,.2f}" for each in costs))
        yield ResultRow(f"all nodes, {unit}", tuple(f"{each.of_all_nodes:,.2f}" for each in costs))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"
