"""A profile: all that decides how the pods of one schedulerName are scheduled.

Profiles are immutable, and swapped whole between two cycles. A `ProfileSpec` is what somebody asked for; a `Profile` is
what the registry made of it (`moorage.framework.registry`), with every plugin built and in the order in which it runs.
"""

from dataclasses import dataclass, field
from typing import Any

from moorage.api.extender import Extender
from moorage.api.plugin_config import PluginConfig, Plugins
from moorage.framework.extension_points import (
    BindPlugin,
    FilterPlugin,
    Plugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 10.0
"""Upstream's podInitialBackoffSeconds and podMaxBackoffSeconds."""


@dataclass(frozen=True, slots=True)
class PolicyReference:
    """The SchedulingPolicy, at one generation, that a profile was compiled from."""

    name: str
    uid: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """What a profile states besides its plugins."""

    percentage_of_nodes_to_score: int = 0
    """How many of the nodes, in percent, must fit before the search ends; 0: fewer the larger the cluster is."""
    initial_backoff_seconds: float = INITIAL_BACKOFF_SECONDS
    """How long a pod waits after its first failed attempt; each further one doubles it."""
    max_backoff_seconds: float = MAX_BACKOFF_SECONDS
    """The longest wait; 0 does without backoff."""
    paused: bool = False
    """Whether the profile's pods wait, though it is loaded."""
    strict_preemption: bool = False
    """Whether victims are evicted, so that disruption budgets hold, instead of deleted as kube-scheduler does."""
    extenders: tuple[Extender, ...] = ()
    """Web services that are asked besides the plugins, in the order in which they were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """A profile as it was asked for: `plugins` and `plugin_config` change the defaults, as in KubeSchedulerProfile."""

    scheduler_name: str
    plugins: Plugins = field(default_factory=Plugins)
    plugin_config: tuple[PluginConfig, ...] = ()
    settings: ProfileSettings = ProfileSettings()
    policy: PolicyReference | None = None


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A Score plugin and the weight of its score."""

    plugin: ScorePlugin[Any]
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """A live profile: plugins by extension point, in the order in which they run."""

    name: str
    """The schedulerName of its pods."""
    queue_sort: QueueSortPlugin
    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    pre_filter: tuple[PreFilterPlugin[Any], ...] = ()
    filter: tuple[FilterPlugin[Any], ...] = ()
    post_filter: tuple[PostFilterPlugin, ...] = ()
    pre_score: tuple[ScorePlugin[Any], ...] = ()
    """A list of its own, as upstream: a plugin whose Score is disabled still has its PreScore run."""
    score: tuple[WeightedScore, ...] = ()
    reserve: tuple[ReservePlugin, ...] = ()
    bind: tuple[BindPlugin, ...] = ()
    settings: ProfileSettings = ProfileSettings()
    policy: PolicyReference | None = None
    warning_plugins: tuple[Plugin, ...] = ()
    """The plugins that may have a remark about a pod; most profiles have none."""

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Every plugin once, in the order of its first appearance."""
        scores = tuple(score.plugin for score in self.score)
        points: tuple[tuple[Plugin, ...], ...] = (
            self.pre_enqueue,
            (self.queue_sort,),
            self.pre_filter,
            self.filter,
            self.post_filter,
            self.pre_score,
            scores,
            self.reserve,
            self.bind,
        )
        return tuple(dict.fromkeys(plugin for point in points for plugin in point))
