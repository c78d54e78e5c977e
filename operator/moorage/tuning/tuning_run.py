"""Tunes a policy: searches, judges the Pareto front beside the presets, and writes the policies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from moorage.compilation.presets import PRESETS
from moorage.simulator.simulation_input import Progress, Request, SimulationInput, read_input
from moorage.tuning.ctrl_c import CtrlC
from moorage.tuning.evaluator import Workload, evaluator
from moorage.tuning.judgement import CandidatePolicy, Judge, JudgedPolicy
from moorage.tuning.objectives import Objective, check_input
from moorage.tuning.search import (
    PolicySearch,
    SearchOptions,
    all_values,
    front_of,
    open_study,
    spread_over,
    write_policy,
)
from moorage.tuning.search_space import SpaceFacts
from moorage.tuning.study_settings import settings_of
from moorage.tuning.task_variant import write_variant

if TYPE_CHECKING:
    from optuna.study import Study

BASE = "base"
"""The name of the policy to improve in the results."""
MAX_FRONT = 10
"""The number of policies of the front that are judged and written."""


class TuningRequest(Struct, frozen=True, kw_only=True):
    """The input and the options of a search."""

    search: Request
    check_tasks: Path | None
    """The tasks of the check. None means tasks drawn at random from the tasks of the search."""
    check_seeds: int
    objectives: tuple[Objective, ...]
    base: Mapping[str, Any]
    trials: int
    jobs: int
    storage: str | None = None
    study: str = "moorage"


class TuningResult(Struct, frozen=True):
    """The result of a search."""

    objectives: tuple[Objective, ...]
    policies: tuple[JudgedPolicy, ...]
    """The tuned policies, then the policy to improve, then the presets."""
    trials: tuple[Sequence[float], ...]
    """The figures of all finished trials."""
    is_interrupted: bool
    """Whether Ctrl-C ended the search."""


def tune(request: TuningRequest, progress: Progress) -> TuningResult:
    """Search, and judge the results. Raise CommandFailed or InvalidInput if the input cannot be used."""
    content = read_input(request.search, progress)
    check_input(request.objectives, content.measured)
    options = SearchOptions(
        objectives=request.objectives,
        base=request.base,
        facts=SpaceFacts.of(content.measured.nodes),
        trials=request.trials,
        jobs=request.jobs,
        seed=request.search.seed,
        storage=request.storage,
        study=request.study,
        settings=settings_of(request.search, request.base),
    )
    study = open_study(options)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="moorage-tune-")))
        workloads = [Workload(request.search, content.measured), *_checks(request, content, folder, progress)]
        pool = stack.enter_context(evaluator(workloads, request.jobs))
        search = PolicySearch(options, study, pool, folder)
        with CtrlC() as ctrl_c:
            search.run(_counting(progress, "searching", request.trials), lambda: ctrl_c.is_pressed)
        candidates = _candidates(study, content, request.base, folder)
        judge = Judge(pool, request.objectives, options.seed, request.check_seeds)
        runs = len(candidates) * (1 + request.check_seeds)
        judged = judge.judge(candidates, _counting(progress, "judging", runs))
    return TuningResult(request.objectives, tuple(judged), tuple(all_values(study)), ctrl_c.is_pressed)


def _checks(request: TuningRequest, content: SimulationInput, folder: Path, progress: Progress) -> Iterator[Workload]:
    """Yield a workload that the search has not seen for each seed of the check.

    The tasks are those of `check_tasks`, or tasks drawn at random from the tasks of the search. The pods of a dump are
    the same, but arrive in another order.
    """
    search = request.search
    if request.check_tasks:
        checked = replace(search, tasks=request.check_tasks)
        measured = read_input(checked, progress).measured
        check_input(request.objectives, measured)
        yield from [Workload(checked, measured)] * request.check_seeds
        return
    for number in range(1, request.check_seeds + 1):
        seed = search.seed + number
        if search.has_task_table:
            variant = replace(search, tasks=folder / f"check-{number}.csv")
            write_variant(search.tasks, variant.tasks, seed)
            yield Workload(variant, read_input(variant, progress).measured)
        else:
            yield Workload(replace(search, arrival_seed=seed), content.measured)


def _candidates(study: Study, content: SimulationInput, base: Mapping[str, Any], folder: Path) -> list[CandidatePolicy]:
    found: list[CandidatePolicy] = []
    for number, policy in enumerate(spread_over(front_of(study), MAX_FRONT), 1):
        name = f"tuned-{number}"
        found.append(CandidatePolicy(name, write_policy(folder, name, policy.spec), policy.spec, is_tuned=True))
    if base:
        found.append(CandidatePolicy(BASE, write_policy(folder, "base", base), dict(base), is_tuned=False))
    facts = SpaceFacts.of(content.measured.nodes)
    useless = {*(() if facts.has_gpus else ("GpuPack",)), *(() if facts.has_lifecycles else ("SpotFirst",))}
    for preset in PRESETS:
        if preset not in useless:
            spec = {"preset": preset}
            found.append(CandidatePolicy(preset, write_policy(folder, preset.lower(), spec), spec, is_tuned=False))
    return found


def _counting(progress: Progress, step: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(step, done, total)
