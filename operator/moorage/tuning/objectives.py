"""The objectives of a search: figures of a simulation. Smaller figures are better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from moorage.errors import CommandFailed
from moorage.simulator.file_objects import GPU
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


def _free_gpus(result: PolicyResult) -> float | None:
    marks = result.allocated.get(GPU)
    if not marks:
        return None
    return round(fmean(min(float(mark), FULL) - allocated for mark, allocated in marks.items()), 3)


OBJECTIVES: Mapping[str, Objective] = {
    each.name: each
    for each in (
        Objective("unplaced", "not placed", "", lambda result: result.unplaced),
        Objective("free-gpus", "free GPUs, %", "nodes with GPUs, and arrivals instead of a trace", _free_gpus),
        Objective("stranded-gpus", "stranded GPUs, %", "nodes with GPUs", lambda result: result.stranded.get(GPU)),
        Objective("stranded-cpu", "stranded cpu, %", "", lambda result: result.stranded.get("cpu")),
        Objective("skew", "zone skew, pods", "nodes in zones", lambda result: result.skew.get("zones_pods")),
        Objective("cost", "cost", "--prices", lambda result: result.cost.of_used_nodes if result.cost else None),
        Objective("p99", "p99 wait, s", "a trace", lambda result: result.waiting.p99 if result.waiting else None),
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


def values_of(result: PolicyResult, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Return the figures of a result. Raise CommandFailed if the input does not have one of them."""
    values: list[float] = []
    for objective in objectives:
        value = objective.value(result)
        if value is None:
            raise CommandFailed(f"the objective {objective.name} needs {objective.needs}")
        values.append(float(value))
    return tuple(values)
