"""The judgement: the figures of policies on seeds, and perhaps tasks, that the search has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from moorage.tuning.evaluator import Evaluator
from moorage.tuning.objectives import Objective, values_of
from moorage.tuning.search import SEARCHED
from moorage.tuning.search_space import Spec


class JudgedPolicy(Struct, frozen=True):
    """A policy with the figures of the search and of the check."""

    name: str
    spec: Spec
    searched: tuple[float, ...]
    """The figures on the workload and the seed of the search."""
    unseen: tuple[float, ...]
    """The means of the figures over the workloads of the check, each with its own seed."""
    is_tuned: bool


class CandidatePolicy(Struct, frozen=True):
    """A policy to judge."""

    name: str
    file: Path
    spec: Spec
    is_tuned: bool


class Judge:
    """The judge of a search."""

    def __init__(self, evaluator: Evaluator, objectives: Sequence[Objective], seed: int, check_seeds: int) -> None:
        """`seed` is the seed of the search.

        The check uses the workloads 1 to `check_seeds`. The seed for workload n is `seed` + n.
        """
        self._evaluator = evaluator
        self._objectives = objectives
        self._seed = seed
        self._check_seeds = check_seeds

    def judge(self, candidates: Sequence[CandidatePolicy], report: Callable[[int], None]) -> list[JudgedPolicy]:
        """Return the candidates with their figures, in the same order. Call `report` with the number of simulations."""
        submit = self._evaluator.submit
        checks = range(1, self._check_seeds + 1)
        searched = [submit(each.file, SEARCHED, self._seed) for each in candidates]
        unseen = [[submit(each.file, check, self._seed + check) for check in checks] for each in candidates]
        judged: list[JudgedPolicy] = []
        for candidate, first, others in zip(candidates, searched, unseen, strict=True):
            seen = values_of(first.result(), self._objectives)
            rows = [values_of(each.result(), self._objectives) for each in others]
            means = tuple(round(fmean(column), 3) for column in zip(*rows, strict=True))
            judged.append(JudgedPolicy(candidate.name, candidate.spec, seen, means, candidate.is_tuned))
            report(len(judged) * (1 + self._check_seeds))
        return judged
