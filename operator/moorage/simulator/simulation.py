"""Runs a simulation: the same tasks on the same nodes with each policy, in one process or in several."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from moorage.errors import CommandFailed, Fault, InvalidInput
from moorage.framework.cluster_events import added
from moorage.framework.profile import Profile
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.simulator.dump_scene import PlacedPods, read_scene, template_of
from moorage.simulator.file_objects import PodTemplates, decode_node
from moorage.simulator.node_file import FileNode, read_nodes, read_prices
from moorage.simulator.policy_files import NamedProfile, ProfileBuilder
from moorage.simulator.run_measures import Measured, RunMeasures
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.task_file import Task, TaskFile, TaskSummary
from moorage.simulator.task_runs import TraceRun, run_arrivals
from moorage.simulator.virtual_cluster import VirtualCluster

POLL_SECONDS = 0.1
KILLED = "a process of the simulation was killed, perhaps for lack of memory; try --jobs 1"

Progress = Callable[[str, int, int], None]
"""Shows a step, the number of tasks that are done, and the number of all tasks; 0 if the latter is not known."""


class Request(Struct, frozen=True, kw_only=True):
    """What to simulate."""

    nodes: Path
    tasks: Path
    policies: tuple[Path, ...]
    placed_pods: PlacedPods | None = None
    """The pods of a dump to place; `nodes` and `tasks` are then the dump. None: both are tables."""
    prices: Path | None = None
    seed: int = 0
    percentage_of_nodes_to_score: int = 100
    keeps_placements: bool = False


class Simulation(Struct, frozen=True):
    """The results of all policies, the baseline first."""

    nodes: Sequence[FileNode]
    tasks: TaskSummary
    results: tuple[PolicyResult, ...]
    warnings: tuple[str, ...] = ()


def simulate(request: Request, jobs: int, progress: Progress = lambda *_: None) -> Simulation:
    """Run the tasks with each policy, at most `jobs` at a time. Raise InvalidInput with the faults of all files."""
    profiles, measured = _read(request, progress)
    if jobs > 1 and len(profiles) > 1:
        results = _run_in_processes(request, measured, len(profiles), min(jobs, len(profiles)), progress)
    else:
        results = _run_here(request, measured, profiles, progress)
    return Simulation(
        measured.nodes, measured.tasks, tuple(results), tuple(text for each in profiles for text in each.warnings)
    )


def _read(request: Request, progress: Progress) -> tuple[list[NamedProfile], Measured]:
    """Read all files; raise InvalidInput with the faults of all of them."""
    faults: list[Fault] = []
    with _collecting(faults):
        profiles = _profiles(request, Registry.discover())
    if request.placed_pods:
        with _collecting(faults):
            scene = read_scene(request.nodes, request.placed_pods)
            nodes, tasks = scene.nodes, scene.summary()
            prices = read_prices(request.prices, nodes) if request.prices else ()
    else:
        with _collecting(faults):
            nodes = read_nodes(request.nodes)
            prices = read_prices(request.prices, nodes) if request.prices else ()
        with _collecting(faults):
            tasks = TaskFile(request.tasks).check(lambda count: progress("checking the tasks", count, 0))
    if faults:
        raise InvalidInput(faults)
    return profiles, Measured(nodes, tasks, prices, request.keeps_placements)


@contextmanager
def _collecting(faults: list[Fault]) -> Iterator[None]:
    """Add the faults of a file to a list instead of raising them."""
    try:
        yield
    except InvalidInput as error:
        faults += error.faults
    except OSError as error:
        faults.append(Fault((), None, f"{error.filename}: {error.strerror}"))


def _profiles(request: Request, registry: Registry) -> list[NamedProfile]:
    return ProfileBuilder(registry, request.percentage_of_nodes_to_score).build_all(request.policies)


def _run_here(
    request: Request, measured: Measured, profiles: Sequence[NamedProfile], progress: Progress
) -> list[PolicyResult]:
    count = measured.tasks.count
    results: list[PolicyResult] = []
    for profile in profiles:
        done = len(results) * count

        def report(placed: int, done: int = done) -> None:
            progress("placing", done + placed, count * len(profiles))

        results.append(_run(request, measured, profile, report))
    return results


def _run(request: Request, measured: Measured, profile: NamedProfile, report: Callable[[int], None]) -> PolicyResult:
    measures = RunMeasures(measured)
    run = _run_dump if request.placed_pods else _run_files
    run(request, measures, profile.profile, report)
    return measures.result(profile.name)


def _run_files(request: Request, measures: RunMeasures, profile: Profile, report: Callable[[int], None]) -> None:
    decoder, measured = Decoder(), measures.measured
    templates, file = PodTemplates(decoder, profile.name), TaskFile(request.tasks)
    nodes = (added("Node", decode_node(node, decoder)) for node in measured.nodes)
    cluster = VirtualCluster(profile, nodes, request.seed, may_preempt=measured.tasks.has_priorities)
    if measured.tasks.is_trace:
        TraceRun(cluster, templates, measures).run(file.tasks(), report)
    else:
        pods = ((task, templates.pod(task.name, task.template)) for task in file.tasks())
        run_arrivals(pods, cluster, measures, report)


def _run_dump(request: Request, measures: RunMeasures, profile: Profile, report: Callable[[int], None]) -> None:
    assert request.placed_pods
    scene = read_scene(request.nodes, request.placed_pods)
    cluster = VirtualCluster(profile, scene.events, request.seed)
    pods = ((_task_of(pod), replace(pod, scheduler_name=profile.name)) for pod in scene.arriving)
    run_arrivals(pods, cluster, measures, report, ((_task_of(pod), pod) for pod in scene.staying))


def _task_of(pod: Pod) -> Task:
    return Task(pod.key, template_of(pod))


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
    """Keep the arguments of all runs, which then need not be sent for each."""
    global _worker  # noqa: PLW0603 - the only way for an initializer to pass arguments to the tasks of its process
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at Ctrl-C without a traceback
    _worker = (request, measured, counts)


def _run_in_worker(number: int) -> PolicyResult:
    request, measured, counts = _worker
    profile = _profiles(request, Registry.discover())[number]

    def report(count: int) -> None:
        counts[number].value = count

    return _run(request, measured, profile, report)
