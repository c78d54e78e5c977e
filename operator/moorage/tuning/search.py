"""The search: asks Optuna for trials, simulates them side by side, and tells Optuna the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

from moorage.errors import CommandFailed
from moorage.outside_text import one_line
from moorage.simulator.run_result import PolicyResult
from moorage.tuning.evaluator import Evaluator
from moorage.tuning.objectives import Objective, values_of
from moorage.tuning.search_space import SpaceFacts, Spec, known_choices, manifest_of, suggest_spec
from moorage.tuning.study_settings import check_settings, shown_storage

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

OBJECTIVES_KEY = "moorage objectives"
SETTINGS_KEY = "moorage input"
SPEC_KEY = "moorage spec"
"""The attributes of a study and of its trials."""
BATCH = 8
"""The number of trials that Optuna suggests before it learns their figures. It is the same for any number of processes,
so that equal seeds give equal searches."""
POLL_SECONDS = 0.2
SEARCHED = 0
"""The number of the workload that the search sees."""


class SearchOptions(Struct, frozen=True, kw_only=True):
    """The options of a search."""

    objectives: tuple[Objective, ...]
    base: Mapping[str, Any]
    """The spec of the policy to improve."""
    facts: SpaceFacts
    trials: int
    """The number of finished trials at which the search ends, including the trials of earlier runs of the study."""
    jobs: int
    seed: int = 0
    storage: str | None = None
    """The URL of Optuna's storage. None means the memory of this process."""
    study: str = "moorage"
    settings: Mapping[str, str] = {}
    """The input of the search (`moorage.tuning.study_settings`)."""


class FoundPolicy(Struct, frozen=True):
    """The policy of a trial, and its figures on the workload that the search has seen."""

    number: int
    spec: Spec
    values: tuple[float, ...]


def check_optuna() -> None:
    """Raise CommandFailed if Optuna is not installed."""
    if find_spec("optuna") is None:
        raise CommandFailed("this command needs Optuna, which is not installed: pip install 'moorage[tune]'")


def open_study(options: SearchOptions) -> Study:
    """Open or create the study. Raise CommandFailed if the storage or the study cannot be used."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(
            storage=options.storage,
            study_name=options.study,
            directions=["minimize"] * len(options.objectives),
            # Processes that share a storage must not suggest the same policies.
            sampler=optuna.samplers.TPESampler(seed=None if options.storage else options.seed),
            load_if_exists=True,
        )
        earlier, settings = (study.user_attrs.get(key) for key in (OBJECTIVES_KEY, SETTINGS_KEY))
        names = [each.name for each in options.objectives]
        if earlier is None:
            study.set_user_attr(OBJECTIVES_KEY, names)
            study.set_user_attr(SETTINGS_KEY, dict(options.settings))
            for choices in known_choices(options.facts):
                study.enqueue_trial(choices)
    except Exception as error:  # Optuna raises the errors of each kind of storage
        reason = str(error).partition("\n")[0]
        message = f"the storage {shown_storage(options.storage or '')} cannot be used: {one_line(reason)}"
        raise CommandFailed(message) from error
    if earlier is not None and earlier != names:
        raise CommandFailed(
            f"the study {options.study} has the objectives {', '.join(earlier)}; choose another name with --study"
        )
    if settings is not None:
        check_settings(options.study, settings, options.settings)
    return study


class RunningTrial(NamedTuple):
    """A trial and its simulation."""

    trial: Trial
    future: Future[PolicyResult]


class PolicySearch:
    """The part of a search that one process does. Several processes may search in one storage."""

    def __init__(self, options: SearchOptions, study: Study, evaluator: Evaluator, folder: Path) -> None:
        """Write the policies of trials to `folder`."""
        self._options = options
        self._study = study
        self._evaluator = evaluator
        self._folder = folder

    def run(self, report: Callable[[int], None], is_ended: Callable[[], bool] = lambda: False) -> None:
        """Run trials until the study has enough, or until `is_ended` returns True.

        Call `report` with the number of finished trials. Trials that have not ended are marked as failed.
        """
        while (done := len(finished(self._study))) < self._options.trials and not is_ended():
            report(done)
            batch = [self._start() for _ in range(min(BATCH, self._options.trials - done))]
            try:
                self._wait(batch, partial(_report_sum, report, done), is_ended)
            finally:
                self._tell(batch)
        report(done)

    def _start(self) -> RunningTrial:
        trial = self._study.ask()
        spec = suggest_spec(trial, self._options.base, self._options.facts)
        trial.set_user_attr(SPEC_KEY, spec)
        file = write_policy(self._folder, f"trial-{trial.number}", spec)
        return RunningTrial(trial, self._evaluator.submit(file, SEARCHED, self._options.seed))

    def _wait(self, batch: Sequence[RunningTrial], report: Callable[[int], None], is_ended: Callable[[], bool]) -> None:
        """Wait for the simulations of a batch. Raise the error of a simulation that failed."""
        pending = {each.future for each in batch}
        while pending and not is_ended():
            ended, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
            for future in ended:
                future.result()
            report(len(batch) - len(pending))

    def _tell(self, batch: Sequence[RunningTrial]) -> None:
        """Tell Optuna the figures in the order of the trials. This order does not depend on the number of processes."""
        from optuna.trial import TrialState

        for each in batch:
            if each.future.cancel() or not each.future.done() or each.future.exception():
                self._study.tell(each.trial, state=TrialState.FAIL)
            else:
                self._study.tell(each.trial, values_of(each.future.result(), self._options.objectives))


def _report_sum(report: Callable[[int], None], before: int, ended: int) -> None:
    report(before + ended)


def write_policy(folder: Path, name: str, spec: Mapping[str, Any]) -> Path:
    """Write a policy to the file NAME.yaml in a folder; JSON is YAML, too."""
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(manifest_of(name, spec)), encoding="utf-8")
    return file


def finished(study: Study) -> list[FrozenTrial]:
    """Return the finished trials."""
    from optuna.trial import TrialState

    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def front_of(study: Study) -> list[FoundPolicy]:
    """Return the Pareto front, sorted by the figures: the policies for which no other policy is better in all figures.

    If several policies have equal figures, return only the first.
    """
    found: dict[tuple[float, ...], FoundPolicy] = {}
    for trial in study.best_trials:
        values = tuple(trial.values)
        found.setdefault(values, FoundPolicy(trial.number, trial.user_attrs[SPEC_KEY], values))
    return [found[values] for values in sorted(found)]


def spread_over(front: Sequence[FoundPolicy], count: int) -> list[FoundPolicy]:
    """Return at most `count` policies of a front: the best in each figure, then those farthest from the others."""
    if len(front) <= count:
        return list(front)
    figures = np.array([each.values for each in front])
    spans = np.ptp(figures, axis=0)
    scaled = (figures - figures.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    picked = list(dict.fromkeys(int(each) for each in figures.argmin(axis=0)))[:count]
    while len(picked) < count:
        distances = np.linalg.norm(scaled[:, None, :] - scaled[None, picked, :], axis=2).min(axis=1)
        picked.append(int(distances.argmax()))
    return [front[number] for number in sorted(picked)]


def all_values(study: Study) -> Iterator[Sequence[float]]:
    """Yield the figures of each finished trial."""
    for trial in finished(study):
        yield trial.values
