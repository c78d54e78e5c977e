"""The objectives of a search: figures of a simulation. Smaller figures are better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from moorage.errors import CommandFailed
from moorage.simulator.file_objects import GPU
from moorage.simulator.run_measures import Measured
from moorage.simulator.run_result import PolicyResult

FULL = 100


class Objective(Struct, frozen=True):
    """A figure to make as small as possible."""

    name: str
    label: str
    """The heading in tables, with the unit."""
    needs: str
    """The requirements of the input, as the end of an error message. Empty if every input has the figure."""
    value: Callable[[PolicyResult], float | None]
    """Returns the figure; None if the input does not have it."""
    is_given: Callable[[Measured], bool] = lambda _: True
    """Returns whether the input has the figure."""


def _free_gpus(result: PolicyResult) -> float | None:
    if GPU not in result.use or result.waiting:
        return None
    marks = {float(mark): allocated for mark, allocated in result.allocated.get(GPU, {}).items()}
    if not marks:  # the tasks request too few GPUs for the first mark
        marks = {result.series.points[-1]: result.series.percent[GPU][-1]}
    return round(fmean(min(mark, FULL) - allocated for mark, allocated in marks.items()), 3)


def _has_gpus(measured: Measured) -> bool:
    return any(node.gpu for node in measured.nodes)


OBJECTIVES: Mapping[str, Objective] = {
    each.name: each
    for each in (
        Objective("unplaced", "not placed", "", lambda result: result.unplaced),
        Objective(
            "free-gpus",
            "free GPUs, %",
            "nodes with GPUs, and arrivals instead of a trace",
            _free_gpus,
            lambda measured: _has_gpus(measured) and not measured.tasks.is_trace,
        ),
        Objective(
            "stranded-gpus", "stranded GPUs, %", "nodes with GPUs", lambda result: result.stranded.get(GPU), _has_gpus
        ),
        Objective("stranded-cpu", "stranded cpu, %", "", lambda result: result.stranded.get("cpu")),
        Objective(
            "skew",
            "zone skew, pods",
            "nodes in zones",
            lambda result: result.skew.get("zones_pods"),
            lambda measured: any(node.zone for node in measured.nodes),
        ),
        Objective(
            "cost",
            "cost",
            "--prices",
            lambda result: result.cost.of_used_nodes if result.cost else None,
            lambda measured: bool(measured.prices),
        ),
        Objective(
            "p99",
            "p99 wait, s",
            "a trace",
            lambda result: result.waiting.p99 if result.waiting else None,
            lambda measured: measured.tasks.is_trace,
        ),
    )
}
"""The objectives by name. `free-gpus` is the percentage of all GPUs that tasks have requested but not received: the
mean over the marks of `moorage.simulator.run_result`."""


def objectives_of(names: Sequence[str]) -> tuple[Objective, ...]:
    """Return the objectives with these names, without repetition. Raise CommandFailed for an unknown name."""
    for name in names:
        if name not in OBJECTIVES:
            raise CommandFailed(f"unknown objective {name!r}; use one of {', '.join(OBJECTIVES)}")
    return tuple(OBJECTIVES[name] for name in dict.fromkeys(names))


def check_input(objectives: Sequence[Objective], measured: Measured) -> None:
    """Raise CommandFailed if the input does not have a figure."""
    for objective in objectives:
        if not objective.is_given(measured):
            raise CommandFailed(f"the objective {objective.name} needs {objective.needs}")


def values_of(result: PolicyResult, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Return the figures of a result. The input has passed `check_input`."""
    values = [objective.value(result) for objective in objectives]
    return tuple(float(value) for value in values if value is not None)
