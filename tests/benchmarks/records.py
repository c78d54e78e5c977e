"""Measures what the records of decisions cost: two equal schedulers, one with a log and one without, take turns."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

import msgspec

from benchmarks import workloads
from benchmarks.engine import built, identified
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.model.decode import Decoder

ROUNDS = 60
PODS = 40
"""The number of decisions in each turn."""


@dataclass(frozen=True, slots=True)
class RecordsResult:
    """The result for one kind of pod in one cluster, in microseconds of CPU time for each decision.

    Each figure is the mean of the faster half of all turns, because other programs disturb the slower half.
    """

    kind: str
    nodes: int
    without: float
    recorded: float
    summary: float
    """The time to summarize a decision. An idle loop does this later."""

    @property
    def percent(self) -> float:
        """The cost of recording, in percent of a decision."""
        return (self.recorded / self.without - 1) * 100


def measure(nodes: int, pods_a_node: int = 10) -> Iterator[RecordsResult]:
    """Fill two clusters, and yield the result for each kind of pod."""
    log = DecisionLog()
    schedulers = {"recorded": built(nodes, pods_a_node, log), "without": built(nodes, pods_a_node)}
    chance = random.Random(1)
    for kind in ("plain", "zone spread", "preferred affinity"):
        times: dict[str, list[float]] = {"recorded": [], "without": [], "summary": []}
        for turn in range(ROUNDS):
            order = list(schedulers.items())
            chance.shuffle(order)
            for name, scheduler in order:
                times[name].append(_microseconds(scheduler, kind, turn * PODS))
            started = time.process_time()
            log.summarize()
            times["summary"].append((time.process_time() - started) / PODS * 1e6)
        typical = {name: mean(sorted(values)[: ROUNDS // 2]) for name, values in times.items()}
        yield RecordsResult(kind, nodes, typical["without"], typical["recorded"], typical["summary"])


def _microseconds(scheduler: Scheduler, kind: str, first: int) -> float:
    decoder = Decoder()
    for number in range(first, first + PODS):
        manifest = identified(workloads.KINDS[kind](number), suffix=kind)
        scheduler.apply(added("Pod", decoder.decode_pod(msgspec.json.encode(manifest))), 0.0)
    started = time.process_time()
    for _ in range(PODS):
        outcome = scheduler.schedule_one(1.0)
        if not isinstance(outcome, Bind):
            raise TypeError(f"a pod of the benchmark was not bound: {outcome}")
        scheduler.apply(BindingFinished(outcome.pod, outcome.node_name), 1.0)
    return (time.process_time() - started) / PODS * 1e6
