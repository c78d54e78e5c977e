"""Runs a simulation: the same tasks on the same nodes with each policy, in one process or in several."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from msgspec import Struct

from moorage.errors import CommandFailed, Fault, InvalidInput
from moorage.framework.registry import Registry
from moorage.simulator.node_file import FileNode
from moorage.simulator.policy_files import NamedProfile, ProfileBuilder
from moorage.simulator.policy_run import run_policy
from moorage.simulator.run_measures import Measured
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation_input import Progress, Request, SimulationInput, collecting, input_of, read_input
from moorage.simulator.task_file import TaskSummary
from moorage.simulator.worker_process import end_with_parent

__all__ = ["Request", "Simulation", "simulate"]

POLL_SECONDS = 0.1
KILLED = "a process of the simulation was killed, perhaps for lack of memory; try --jobs 1"


class Simulation(Struct, frozen=True):
    """The results of all policies, the baseline first."""

    nodes: Sequence[FileNode]
    tasks: TaskSummary
    results: tuple[PolicyResult, ...]
    warnings: tuple[str, ...] = ()


def simulate(request: Request, jobs: int, progress: Progress = lambda *_: None) -> Simulation:
    """Run the tasks with each policy, at most `jobs` at a time. Raise InvalidInput with the faults of all files."""
    profiles, content = _read(request, progress)
    if jobs > 1 and len(profiles) > 1:
        results = _run_in_processes(request, content.measured, len(profiles), min(jobs, len(profiles)), progress)
    else:
        results = _run_here(request, content, profiles, progress)
    measured, warnings = content.measured, tuple(text for each in profiles for text in each.warnings)
    return Simulation(measured.nodes, measured.tasks, tuple(results), warnings)


def _read(request: Request, progress: Progress) -> tuple[list[NamedProfile], SimulationInput]:
    """Read all files. Raise InvalidInput with the faults of all files."""
    faults: list[Fault] = []
    with collecting(faults):
        profiles = _profiles(request, Registry.discover())
    with collecting(faults):
        content = read_input(request, progress)
    if faults:
        raise InvalidInput(faults)
    return profiles, content


def _profiles(request: Request, registry: Registry) -> list[NamedProfile]:
    return ProfileBuilder(registry, request.percentage_of_nodes_to_score).build_all(request.policies)


def _run_here(
    request: Request, content: SimulationInput, profiles: Sequence[NamedProfile], progress: Progress
) -> list[PolicyResult]:
    count = content.measured.tasks.count
    results: list[PolicyResult] = []
    for profile in profiles:
        done = len(results) * count

        def report(placed: int, done: int = done) -> None:
            progress("placing", done + placed, count * len(profiles))

        results.append(run_policy(request, content, profile, report))
    return results


def _run_in_processes(
    request: Request, measured: Measured, policies: int, jobs: int, progress: Progress
) -> list[PolicyResult]:
    context = get_context("spawn")  # a fork would copy the thread that draws the progress bar
    counts = [context.Value("q", 0) for _ in range(policies)]
    with ProcessPoolExecutor(jobs, context, _start_worker, (request, measured, counts)) as pool:
        futures = [pool.submit(_run_in_worker, number) for number in range(policies)]
        pending: set[Future[PolicyResult]] = set(futures)
        while pending:
            finished, pending = wait(pending, POLL_SECONDS, FIRST_EXCEPTION)
            for future in finished:
                try:
                    future.result()
                except BrokenProcessPool as error:
                    raise CommandFailed(KILLED) from error
            progress("placing", sum(count.value for count in counts), measured.tasks.count * policies)
    return [future.result() for future in futures]


_worker: tuple[Request, Measured, list[Synchronized[int]]]
"""The arguments of the runs in this process."""


def _start_worker(request: Request, measured: Measured, counts: list[Any]) -> None:
    """Keep the common arguments of all runs, so that they are sent only once to each process."""
    global _worker  # noqa: PLW0603 - the only way for an initializer to pass arguments to the tasks of its process
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at Ctrl-C without a traceback
    _worker = (request, measured, counts)


def _run_in_worker(number: int) -> PolicyResult:
    request, measured, counts = _worker
    profile = _profiles(request, Registry.discover())[number]

    def report(count: int) -> None:
        counts[number].value = count

    return run_policy(request, input_of(request, measured), profile, report)
