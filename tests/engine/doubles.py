"""Fake plugins, a function that makes profiles of them, and a recorder that keeps its calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.engine.recorder import Recorder
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    Rejection,
    ScorePlugin,
)
from moorage.framework.profile import Profile, ProfileSettings, WeightedScore
from moorage.framework.status import SUCCESS, Code, Status, unresolvable
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort

SCHEDULER = "default-scheduler"


class NameFilter(FilterPlugin[None]):
    """A Filter that rejects nodes by name. Its queueing hint is true for events of the kinds in `wakes_on`."""

    interests = frozenset({"Node", "Pod", "Service"})

    rejected: Mapping[str, Code] = {}
    wakes_on: frozenset[str] = frozenset()
    reason: str = "node(s) had the wrong name"

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        del state, pod
        codes = [self.rejected.get(name) for name in nodes.names]
        passed = np.array([code is None for code in codes], np.bool_)
        return FilterResult(passed, lambda: [self._rejection(codes, code) for code in set(codes) - {None} if code])

    def _rejection(self, codes: Sequence[Code | None], code: Code) -> Rejection:
        return Rejection(np.array([each is code for each in codes], np.bool_), self.reason, code)

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        del pod
        return event.kind in self.wakes_on


class OtherFilter(NameFilter):
    """The same plugin with another name."""


class BrokenFilter(FilterPlugin[None]):
    """A Filter that raises an exception for pods with one name."""

    victim: str = "broken"

    def filter(self, state: None, pod: Pod, nodes: Snapshot) -> FilterResult:
        del state
        if pod.name == self.victim:
            raise ZeroDivisionError("broken plugin")
        return FilterResult(np.ones(nodes.size, np.bool_), tuple)


class Narrower(PreFilterPlugin[None]):
    """A PreFilter that restricts the nodes, or returns a status."""

    names: frozenset[str] | None = None
    answer: Status = SUCCESS

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[None]:
        del pod, snapshot
        return PreFilterResult(self.answer, node_names=self.names)


class OtherNarrower(Narrower):
    """The same plugin with another name."""


class Gate(PreEnqueuePlugin):
    """A PreEnqueue that gates pods with the label `held`."""

    interests = frozenset({"Pod"})

    def pre_enqueue(self, pod: Pod) -> Status:
        return unresolvable("held") if "held" in pod.labels else SUCCESS

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        return event.new is not None and event.new.uid == pod.uid and "held" not in event.new.labels


class NameScore(ScorePlugin[None]):
    """A Score with a score for each node name."""

    scores: Mapping[str, int] = {}

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        del state, pod
        return np.array([self.scores.get(name, 0) for name in nodes.names], np.int64)


def profile(name: str = SCHEDULER, **points: Any) -> Profile:
    """Return a profile that runs these plugins at their extension points. Each Score has weight 1."""
    settings = ProfileSettings(**points.pop("settings", {}))
    scores = tuple(WeightedScore(plugin, 1) for plugin in points.pop("score", ()))
    return Profile(name=name, queue_sort=PrioritySort(), score=scores, settings=settings, **points)


@dataclass
class ListRecorder(Recorder):
    """A recorder that keeps every call. Each call of `now` adds one second to the time."""

    samples_plugins: bool = True
    time: float = 0.0
    durations: list[tuple[str, float]] = field(default_factory=list)
    points: list[tuple[str, str]] = field(default_factory=list)
    plugins: set[tuple[str, str]] = field(default_factory=set)
    evaluated: dict[str, set[str]] = field(default_factory=dict)
    incoming: list[tuple[str, str]] = field(default_factory=list)
    hints: list[tuple[str, str, bool]] = field(default_factory=list)

    def start_cycle(self) -> None:
        self.durations = []

    def now(self) -> float:
        self.time += 1
        return self.time

    def observe_point(
        self, point: str, code: Code, profile: str, started: float, evaluated: Sequence[Plugin] = ()
    ) -> float:
        assert profile == SCHEDULER
        if evaluated:
            self.evaluated.setdefault(point, set()).update(plugin.name for plugin in evaluated)
        assert 0 < started < self.now(), point
        self.points.append((point, code.value))
        self.durations.append((point, self.time - started))
        return self.now()

    def observe_plugin(self, plugin: str, point: str, code: Code, started: float) -> None:
        assert 0 < started < self.now(), (plugin, code)
        self.plugins.add((plugin, point))

    def count_incoming(self, queue: str, event: str) -> None:
        self.incoming.append((queue, event))

    def observe_hint(self, plugin: str, event: ClusterEvent, started: float, *, queues: bool) -> None:
        assert 0 < started < self.now()
        self.hints.append((plugin, event.label, queues))
