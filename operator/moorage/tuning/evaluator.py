"""Runs simulations of single policies in a pool of processes that stays open for the whole search."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from moorage.errors import CommandFailed
from moorage.framework.registry import Registry
from moorage.simulator.policy_files import ProfileBuilder
from moorage.simulator.policy_run import run_policy
from moorage.simulator.run_measures import Measured
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation import KILLED
from moorage.simulator.simulation_input import Request, SimulationInput, input_of
from moorage.simulator.worker_process import end_with_parent


class Workload(Struct, frozen=True):
    """The tasks and the nodes of the simulations."""

    request: Request
    measured: Measured


class Evaluator:
    """A pool that simulates policies on the workloads."""

    def __init__(self, pool: Executor) -> None:
        """Use `pool`, which `evaluator` opens."""
        self._pool = pool

    def submit(self, policy: Path, workload: int, seed: int) -> Future[PolicyResult]:
        """Simulate the policy of a file on a workload with a seed. The future returns the figures."""
        return self._pool.submit(_evaluate, policy, workload, seed)


@contextmanager
def evaluator(workloads: Sequence[Workload], jobs: int) -> Iterator[Evaluator]:
    """Open a pool of `jobs` processes, or of one thread for one job. End it when the block ends.

    Raise CommandFailed if a process is killed.
    """
    arguments = (tuple(workloads),)
    made: Executor
    if jobs > 1:
        made = ProcessPoolExecutor(jobs, get_context("spawn"), _start_process, arguments)
    else:
        made = ThreadPoolExecutor(1, "tune", _start, arguments)
    with made as pool:
        try:
            yield Evaluator(pool)
        except BrokenProcessPool as error:
            raise CommandFailed(KILLED) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_workloads: tuple[Workload, ...] = ()
_inputs: dict[int, SimulationInput] = {}
"""The workloads of this process, and the content of the files of the workloads that were used."""


def _start_process(workloads: tuple[Workload, ...]) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the search in the main process
    _start(workloads)


def _start(workloads: tuple[Workload, ...]) -> None:
    global _workloads  # noqa: PLW0603 - the only way for an initializer to pass arguments to the tasks of its process
    _workloads = workloads
    _inputs.clear()


def _evaluate(policy: Path, workload: int, seed: int) -> PolicyResult:
    chosen = _workloads[workload]
    if workload not in _inputs:
        _inputs[workload] = input_of(chosen.request, chosen.measured)
    builder = ProfileBuilder(Registry.discover(), chosen.request.percentage_of_nodes_to_score)
    _, profile = builder.build_all([policy])
    return run_policy(replace(chosen.request, seed=seed), _inputs[workload], profile)
