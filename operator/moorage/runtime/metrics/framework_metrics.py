"""kube-scheduler's metrics of extension points, plugins, queueing hints and queues (pkg/scheduler/metrics/metrics.go).

Upstream counts an evaluation for each node in Filter and Score. A plugin here evaluates all nodes at once, so each
attempt counts once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import log
from typing import TYPE_CHECKING, Any, TypeVar

from moorage.engine.recorder import Recorder
from moorage.framework.status import Code
from moorage.runtime.metrics.collectors import Counts, Distributions, exponential
from moorage.runtime.shadow_budget import ShadowBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from prometheus_client import CollectorRegistry

    from moorage.framework.cluster_events import ClusterEvent
    from moorage.framework.extension_points import Plugin

K = TypeVar("K")

SAMPLED = 0.1
"""The share of cycles in which each plugin's duration is measured (pluginMetricsSamplePercent)."""
PLUGIN_BUCKETS = exponential(0.00001, 1.5, 20)
MAX_UNCOUNTED = 1000
"""The number of cycles that may wait to be counted."""


class FrameworkMetrics(Recorder):
    """The engine's recorder. `now` reads a clock in seconds. `chance` returns a random number between 0 and 1."""

    def __init__(self, registry: CollectorRegistry, now: Callable[[], float], chance: Callable[[], float]) -> None:
        """Register in `registry`."""
        self.now = now  # type: ignore[method-assign]  # saves a call in each cycle
        self._chance = chance
        self._point_seconds = Distributions(
            "scheduler_framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point.",
            ("extension_point", "status", "profile"),
            exponential(0.0001, 2, 12),
            registry,
        )
        self._plugin_seconds = Distributions(
            "scheduler_plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point.",
            ("plugin", "extension_point", "status"),
            PLUGIN_BUCKETS,
            registry,
        )
        self._evaluations = Counts(
            "scheduler_plugin_evaluation",
            "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, "
            "Filter, PreScore, and Score).",
            ("plugin", "extension_point", "profile"),
            registry,
        )
        self._hint_seconds = Distributions(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Duration for running a queueing hint function of a plugin.",
            ("plugin", "event", "hint"),
            PLUGIN_BUCKETS,
            registry,
        )
        self._incoming = Counts(
            "scheduler_queue_incoming_pods",
            "Number of pods added to scheduling queues by event and queue type.",
            ("queue", "event"),
            registry,
        )
        self._runs: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        """By extension point and profile: the plugins to count and the seconds of each run that is not counted yet.
        One list holds both, because appending to a list is the cheapest way to store a value.
        """
        self._plugin_calls: list[Any] = []
        """Plugin, extension point, code and seconds of each call that is not counted yet."""
        self._uncounted = 0
        """The number of cycles that are not counted yet."""
        self._until_sample = self._cycles_until_sample()
        self._shadow_budget = ShadowBudget()
        self.durations: list[tuple[str, float]] = []

    def start_cycle(self) -> None:
        """Forget `durations`. Decide at random whether the next cycle measures the duration of each plugin."""
        self.durations = []
        self._until_sample -= 1
        self._uncounted += 1
        self.samples_plugins = self._until_sample < 0
        if self.samples_plugins:
            self._until_sample = self._cycles_until_sample()
            if self._uncounted > MAX_UNCOUNTED:
                self.count_all()

    def observe_point(
        self, point: str, code: Code, profile: str, started: float, evaluated: Sequence[Plugin] = ()
    ) -> float:
        """Record a run of all plugins of an extension point, and an attempt of each plugin in `evaluated`.

        Return the current time.
        """
        now = self.now()
        seconds = now - started
        self.durations.append((point, seconds))
        if code is Code.SUCCESS:
            runs = self._runs[point, profile]
            runs.append(evaluated)
            runs.append(seconds)
        else:
            self._point_seconds.labels(point, code.value, profile).observe(seconds)
            self._count_evaluations(point, profile, evaluated, 1)
        return now

    def observe_plugin(self, plugin: str, point: str, code: Code, started: float) -> None:
        """Record one call of a plugin."""
        append = self._plugin_calls.append
        append(plugin)
        append(point)
        append(code)
        append(self.now() - started)

    def count_all(self) -> None:
        """Add all values that were recorded since the last call to the metrics. Call this method before each scrape.

        Counting many values at once is several times faster than counting each value separately.
        """
        for (point, profile), runs in self._runs.items():
            self._point_seconds.labels(point, Code.SUCCESS.value, profile).observe_all(runs[1::2])
            # Most runs have the same tuple of plugins. Counting by identity is much faster than hashing the tuples.
            tuples = {id(evaluated): evaluated for evaluated in runs[::2]}
            for identity, count in Counter(map(id, runs[::2])).items():
                self._count_evaluations(point, profile, tuples[identity], count)
        self._runs.clear()
        self._uncounted = 0
        calls = zip(self._plugin_calls[::4], self._plugin_calls[1::4], self._plugin_calls[2::4], strict=True)
        for (plugin_name, point, code), seconds in _grouped(calls, self._plugin_calls[3::4]).items():
            self._plugin_seconds.labels(plugin_name, point, code.value).observe_all(seconds)
        self._plugin_calls.clear()

    def _count_evaluations(self, point: str, profile: str, plugins: Sequence[Plugin], count: int) -> None:
        for plugin in plugins:
            self._evaluations.labels(plugin.name, point, profile).inc(count)

    def _cycles_until_sample(self) -> int:
        """Return a random number of cycles, so that each cycle is a sample with the probability SAMPLED."""
        return int(log(1 - self._chance()) / log(1 - SAMPLED))

    def may_shadow(self) -> bool:
        """Return whether a policy in mode Shadow may use more time."""
        may_decide = self._shadow_budget.allows(self.now())
        if self.shadow_answers is not None:
            self.shadow_answers.append(may_decide)
        return may_decide

    def observe_shadow(self, started: float) -> None:
        """Record that a policy in mode Shadow has used the time since `started`."""
        self._shadow_budget.spend(self.now() - started)

    def count_incoming(self, queue: str, event: str) -> None:
        """Count a pod that enters a queue."""
        self._incoming.labels(queue, event).inc()

    def observe_hint(self, plugin: str, event: ClusterEvent, started: float, *, queues: bool) -> None:
        """Record a call of a queueing hint."""
        hint = "Queue" if queues else "QueueSkip"
        self._hint_seconds.labels(plugin, event.label, hint).observe(self.now() - started)

    def keep_profiles(self, profiles: Collection[str]) -> None:
        """Remove the series of all other profiles."""
        self.count_all()
        self._point_seconds.keep("profile", profiles)
        self._evaluations.keep("profile", profiles)


def _grouped(keys: Iterable[K], values: Iterable[float]) -> dict[K, list[float]]:
    """Return the values by key."""
    groups: dict[K, list[float]] = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    return groups
