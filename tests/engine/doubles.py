"""Fake plugins, and a function that makes profiles of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.snapshot import Snapshot
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.extension_points import (
    FilterPlugin,
    FilterResult,
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
    """Return a profile with these plugins at each extension point; scores have weight 1."""
    settings = ProfileSettings(**points.pop("settings", {}))
    scores = tuple(WeightedScore(plugin, 1) for plugin in points.pop("score", ()))
    return Profile(name=name, queue_sort=PrioritySort(), score=scores, settings=settings, **points)
