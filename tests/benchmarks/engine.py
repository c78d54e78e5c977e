"""Measures the engine alone: the cost of one decision by size of the cluster, placed pods and kind of pod."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from benchmarks import workloads
from moorage.engine.messages import BindingFinished, ProfileChanged
from moorage.engine.outcomes import Bind
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder

WARM_UP = 50
"""The number of decisions before the measurement."""
MEASURED = 400
"""The number of measured decisions."""


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result for one kind of pod in one cluster."""

    kind: str
    nodes: int
    pods_a_node: int
    microseconds: float
    """The mean CPU time of a decision, including the assume step."""

    @property
    def decisions_a_second(self) -> float:
        """The decisions in a second of CPU time."""
        return 1e6 / self.microseconds


def measure(nodes: int, pods_a_node: int) -> Iterator[EngineResult]:
    """Fill a cluster, and yield the result for each kind of pod."""
    decoder = Decoder()
    scheduler = built(nodes, pods_a_node)
    for kind, pod in workloads.KINDS.items():
        count = min(WARM_UP + MEASURED, nodes) if kind == "anti-affinity" else WARM_UP + MEASURED
        for number in range(count):
            manifest = identified(pod(number), suffix=kind)
            scheduler.apply(added("Pod", decoder.decode_pod(msgspec.json.encode(manifest))), 0.0)
        yield EngineResult(kind, nodes, pods_a_node, _microseconds_a_decision(scheduler, count))


def built(nodes: int, pods_a_node: int, log: DecisionLog | None = None) -> Scheduler:
    """Return a scheduler with equal nodes and placed pods."""
    decoder = Decoder()
    scheduler = Scheduler(seed=1, log=log)
    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name=workloads.SCHEDULER_NAME))
    scheduler.apply(ProfileChanged(profile), 0.0)
    for index in range(nodes):
        node = decoder.decode_node(msgspec.json.encode(identified(workloads.node(index))))
        scheduler.apply(added("Node", node), 0.0)
    for manifest in workloads.placed_pods(nodes, pods_a_node):
        scheduler.apply(added("Pod", decoder.decode_pod(msgspec.json.encode(identified(manifest)))), 0.0)
    return scheduler


def _microseconds_a_decision(scheduler: Scheduler, count: int) -> float:
    started = 0.0
    warm_up = min(WARM_UP, count // 2)
    for number in range(count):
        if number == warm_up:
            started = time.process_time()
        outcome = scheduler.schedule_one(1.0)
        if not isinstance(outcome, Bind):
            raise TypeError(f"a pod of the benchmark was not bound: {outcome}")
        scheduler.apply(BindingFinished(outcome.pod, outcome.node_name), 1.0)
    return (time.process_time() - started) / (count - warm_up) * 1e6


def identified(manifest: workloads.Manifest, suffix: str = "") -> workloads.Manifest:
    """Return an object with the uid and resourceVersion that the API server would set."""
    metadata = manifest["metadata"]
    name = f"{metadata['name']}-{suffix.replace(' ', '-')}" if suffix else metadata["name"]
    return {**manifest, "metadata": {**metadata, "name": name, "uid": f"uid-{name}", "resourceVersion": "1"}}
