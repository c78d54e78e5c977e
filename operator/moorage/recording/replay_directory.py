"""Replays all segments of a directory, in one process or in several, and puts the results of each run together."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec import Struct

from moorage.errors import CommandFailed
from moorage.framework.registry import Registry
from moorage.recording.policy_comparison import ComparedPolicies, PolicyComparison
from moorage.recording.recording_faults import UnusableRecording
from moorage.recording.replay import FirstDifference, SegmentResult, replay_segment
from moorage.recording.segment_file import EmptySegment, SegmentReader, segments_in
from moorage.simulator.policy_files import ProfileBuilder

POLL_SECONDS = 0.1
KILLED = "a process of the replay was killed, perhaps for lack of memory; try --jobs 1"
Progress = Callable[[int, int, int], None]
"""Receives the bytes that are read, all bytes, and the number of decisions."""


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """The segments to replay, and the policies to compare with."""

    segments: Sequence[Path]
    policies: Sequence[Path] = ()
    notes: Sequence[str] = ()
    """Remarks about files without decisions."""


class RunResult(Struct, kw_only=True):
    """The result of consecutive segments of one run of the operator."""

    run: str
    moorage: str
    """The version that recorded the run."""
    seed: int
    began: float
    ended: float
    """The times of the first and of the last call, in seconds since the epoch."""
    segments: int = 0
    last_segment: int = 0
    decisions: int = 0
    """The number of decisions that were compared. The replay of a segment ends with its first difference."""
    different: int = 0
    """The number of segments with a difference."""
    difference: FirstDifference | None = None
    notes: list[str] = []


def read_request(directory: Path, policies: Sequence[Path] = ()) -> ReplayRequest:
    """Return the request for a directory.

    Raise UnusableRecording if it has no segment, or a segment that cannot be read.

    Raise InvalidInput with the faults of the policy files.
    """
    if not directory.is_dir():
        raise UnusableRecording(f"{directory} is not a directory; name the directory of `moorage run --record DIR`")
    found: list[Path] = []
    notes: list[str] = []
    for path in segments_in(directory):
        try:
            with closing(SegmentReader(path)):
                found.append(path)
        except EmptySegment as error:
            notes.append(str(error))
    if not found and notes:
        raise UnusableRecording("; ".join(notes))
    if not found:
        raise UnusableRecording(f"{directory} has no recording; `moorage run --record {directory}` writes one")
    if policies:
        _comparison(Registry.discover(), policies)
    return ReplayRequest(segments=found, policies=policies, notes=notes)


def replay_all(request: ReplayRequest, jobs: int, progress: Progress = lambda *_: None) -> list[SegmentResult]:
    """Replay all segments, at most `jobs` at a time. Raise UnusableRecording at a damaged file."""
    jobs = min(jobs, len(request.segments))
    return _replay_in_processes(request, jobs, progress) if jobs > 1 else _replay_here(request, progress)


def runs_of(results: Iterable[SegmentResult]) -> list[RunResult]:
    """Put the results of consecutive segments together."""
    runs: list[RunResult] = []
    for result in results:
        header = result.header
        if not runs or (header.run, header.segment) != (runs[-1].run, runs[-1].last_segment + 1):
            runs.append(
                RunResult(
                    run=header.run,
                    moorage=header.moorage,
                    seed=header.seed,
                    began=header.time,
                    ended=result.ended,
                    notes=[],
                )
            )
        _add(runs[-1], result)
    return runs


def policies_of(results: Iterable[SegmentResult]) -> ComparedPolicies:
    """Put the comparisons of all segments together."""
    total = ComparedPolicies(verdicts={}, differences=[], scheduler_names={})
    seen: set[str] = set()
    for found in (result.policies for result in results if result.policies is not None):
        total.decisions += found.decisions
        for counts, more in ((total.verdicts, found.verdicts), (total.scheduler_names, found.scheduler_names)):
            for name, count in more.items():
                counts[name] = counts.get(name, 0) + count
        total.differences += [each for each in found.differences if each.uid not in seen]
        seen.update(each.uid for each in found.differences)
    return total


def _add(run: RunResult, result: SegmentResult) -> None:
    run.last_segment = result.header.segment
    run.segments += 1
    run.decisions += result.decisions
    run.ended = result.ended
    if result.difference is not None:
        run.different += 1
        run.difference = run.difference or result.difference
    if result.is_cut_off:
        run.notes.append(
            f"{result.path} has no end mark, because the operator still runs or was killed, or because the file is cut "
            "off; it was replayed up to its last complete block"
        )


def _comparison(registry: Registry, policies: Sequence[Path]) -> PolicyComparison | None:
    """Return the comparison with the policies of files, without the baseline of simulations."""
    if not policies:
        return None
    found = ProfileBuilder(registry, 0).build_all(policies)[1:]
    return PolicyComparison(each.profile for each in found)


def _replay_here(request: ReplayRequest, progress: Progress) -> list[SegmentResult]:
    registry = Registry.discover()
    total = sum(path.stat().st_size for path in request.segments)
    results: list[SegmentResult] = []
    read = decisions = 0
    for path in request.segments:

        def show(done: int, made: int, read: int = read, decisions: int = decisions) -> None:
            progress(read + done, total, decisions + made)

        results.append(replay_segment(path, registry, _comparison(registry, request.policies), show))
        read, decisions = read + path.stat().st_size, decisions + results[-1].decisions
    return results


def _replay_in_processes(request: ReplayRequest, jobs: int, progress: Progress) -> list[SegmentResult]:
    context = get_context("spawn")  # a fork would copy the thread that draws the progress bar
    total = sum(path.stat().st_size for path in request.segments)
    counts = [(context.Value("q", 0), context.Value("q", 0)) for _ in request.segments]
    with ProcessPoolExecutor(jobs, context, _start_worker, (request, counts)) as pool:
        futures = [pool.submit(_replay_in_worker, number) for number in range(len(request.segments))]
        pending: set[Future[SegmentResult]] = set(futures)
        while pending:
            finished, pending = wait(pending, POLL_SECONDS, FIRST_EXCEPTION)
            for future in finished:
                try:
                    future.result()
                except BrokenProcessPool as error:
                    raise CommandFailed(KILLED) from error
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
            progress(sum(read.value for read, _ in counts), total, sum(made.value for _, made in counts))
    return [future.result() for future in futures]


_work: tuple[ReplayRequest, list[tuple[Any, Any]]]
"""The arguments of the replays in this process."""


def _start_worker(request: ReplayRequest, counts: list[tuple[Any, Any]]) -> None:
    """Keep the common arguments of all replays."""
    global _work  # noqa: PLW0603 - the only way for an initializer to pass arguments to the tasks of its process
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at Ctrl-C without a traceback
    _work = (request, counts)


def _replay_in_worker(number: int) -> SegmentResult:
    request, counts = _work
    read, made = counts[number]

    def show(done: int, decisions: int) -> None:
        read.value, made.value = done, decisions

    registry = Registry.discover()
    return replay_segment(request.segments[number], registry, _comparison(registry, request.policies), show)
