"""Measures recordings: what recording costs the scheduling loop, and how long the replay of an hour takes."""

from __future__ import annotations

import random
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import msgspec
from msgspec.structs import replace

from benchmarks import workloads
from benchmarks.engine import identified
from moorage.engine.engine_state import EngineState
from moorage.engine.messages import BindingFinished, ProfileChanged
from moorage.engine.outcomes import Bind
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.recording.calls import Call
from moorage.recording.recorded_scheduler import RecordedScheduler
from moorage.recording.recording_thread import RecordingThread
from moorage.recording.recording_writer import RecordingWriter
from moorage.recording.replay_directory import read_request, replay_all

REGISTRY = Registry.discover()
LIFETIME_SECONDS = 200
PODS_A_SECOND = 100
ROUNDS = 60
PODS_A_ROUND = 200


@dataclass(frozen=True, slots=True)
class RecordingResult:
    """The cost of recording, in microseconds for each pod. Each figure is the mean of the faster half of all turns."""

    nodes: int
    without: float
    """The CPU time of the loop's thread: the pod's events, the decision, and the end of the binding."""
    recorded: float
    writer: float
    """The CPU time of the thread that writes the recording."""

    @property
    def percent(self) -> float:
        """The cost of recording for the loop, in percent."""
        return (self.recorded / self.without - 1) * 100


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The replay of a recorded time."""

    nodes: int
    recorded_seconds: int
    decisions: int
    bytes: int
    replay_seconds: float
    is_equal: bool


class Cluster:
    """Nodes, and pods that come, run and end. All pods of a second are created together."""

    def __init__(self, nodes: int) -> None:
        """Create the nodes."""
        self.scheduler = RecordedScheduler(seed=1)
        self.now = 1000.0
        self._decoder = Decoder()
        self._numbers = iter(range(10_000_000))
        self._running: deque[list[Pod]] = deque()
        profile = REGISTRY.build_profile(ProfileSpec(scheduler_name=workloads.SCHEDULER_NAME))
        self.scheduler.apply(ProfileChanged(profile), self.now)
        for index in range(nodes):
            node = self._decoder.decode_node(msgspec.json.encode(identified(workloads.node(index))))
            self.scheduler.apply(added("Node", node), self.now)

    def pods(self, count: int) -> list[Pod]:
        """Return new pods."""
        kinds = list(workloads.KINDS.values())[:2]
        manifests = [
            identified(kinds[number % 2](number)) for number, _ in zip(self._numbers, range(count), strict=False)
        ]
        return [self._decoder.decode_pod(msgspec.json.encode(manifest)) for manifest in manifests]

    def run(self, pods: list[Pod], *, step: float) -> None:
        """Create pods, bind them, let them run, and delete the pods whose lifetime has ended."""
        scheduler, running = self.scheduler, []
        for pod in pods:
            self.now += step
            scheduler.apply(added("Pod", pod), self.now)
            scheduler.tick(self.now)
            outcome = scheduler.schedule_one(self.now)
            assert isinstance(outcome, Bind), outcome
            scheduler.schedule_one(self.now)
            bound = replace(pod, node_name=outcome.node_name, resource_version="2")
            scheduler.apply(updated("Pod", pod, bound), self.now)
            scheduler.apply(BindingFinished(outcome.pod, outcome.node_name), self.now)
            started = replace(bound, phase="Running", start_time=self.now, resource_version="3")
            scheduler.apply(updated("Pod", bound, started), self.now)
            running.append(started)
        self._running.append(running)
        if len(self._running) > LIFETIME_SECONDS:
            for pod in self._running.popleft():
                terminating = replace(pod, terminating=True, resource_version="4")
                scheduler.apply(updated("Pod", pod, terminating), self.now)
                scheduler.apply(deleted("Pod", terminating), self.now)


def measure(nodes: int) -> RecordingResult:
    """Run two equal clusters in turns. One of them is recorded."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as directory:
        clusters = {"recorded": Cluster(nodes), "without": Cluster(nodes)}
        writer = _TimedWriter(directory=Path(directory), seed=1, time=time.time)
        thread = RecordingThread(writer)
        thread.start()
        clusters["recorded"].scheduler.record(thread)
        times: dict[str, list[float]] = {name: [] for name in clusters}
        for _ in range(ROUNDS):
            order = list(clusters.items())
            chance.shuffle(order)
            for name, cluster in order:
                pods = cluster.pods(PODS_A_ROUND)
                started = time.thread_time()
                cluster.run(pods, step=1 / PODS_A_SECOND)
                times[name].append((time.thread_time() - started) / PODS_A_ROUND * 1e6)
        clusters["recorded"].scheduler.record(None)
        thread.stop()
    typical = {name: mean(sorted(values)[: ROUNDS // 2]) for name, values in times.items()}
    return RecordingResult(
        nodes, typical["without"], typical["recorded"], writer.seconds / (ROUNDS * PODS_A_ROUND) * 1e6
    )


class _TimedWriter(RecordingWriter):
    """A writer that measures its CPU time."""

    seconds: float = 0.0

    def write(self, calls: list[Call]) -> None:
        started = time.thread_time()
        super().write(calls)
        self.seconds += time.thread_time() - started


def replay(nodes: int, seconds: int, jobs: int) -> ReplayResult:
    """Record some time with PODS_A_SECOND, and replay the recording in `jobs` processes."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _record(directory, nodes, seconds)
        size = sum(path.stat().st_size for path in directory.glob("*.moorage"))
        started = time.perf_counter()
        results = replay_all(read_request(directory), jobs)
        taken = time.perf_counter() - started
    decisions = sum(result.decisions for result in results)
    is_equal = all(result.difference is None for result in results)
    return ReplayResult(nodes, seconds, decisions, size, taken, is_equal)


def _record(directory: Path, nodes: int, seconds: int) -> None:
    cluster = Cluster(nodes)
    writer = RecordingWriter(directory=directory, seed=1, time=lambda: cluster.now)
    receiver = _Immediate(writer)
    cluster.scheduler.record(receiver)
    cluster.scheduler.tick(cluster.now)
    for _ in range(seconds):
        cluster.run(cluster.pods(PODS_A_SECOND), step=1 / PODS_A_SECOND)
    cluster.scheduler.record(None)
    writer.close()


class _Immediate:
    """A receiver that writes in the thread of the engine."""

    def __init__(self, writer: RecordingWriter) -> None:
        self.needs_state = True
        self._writer = writer

    def begin(self, state: EngineState, now: float) -> None:
        self._writer.begin(state, now)
        self.needs_state = self._writer.wants_state

    def receive(self, calls: list[Call]) -> None:
        self._writer.write(calls)
        self.needs_state = self._writer.wants_state
