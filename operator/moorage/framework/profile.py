"""Profiles: the plugins and settings for the pods of one schedulerName.

A `ProfileSpec` is a requested profile. `moorage.framework.registry` builds a `Profile` from it, with all its plugins in
the order in which they run. Profiles are immutable; the scheduling loop replaces a whole profile between two cycles.
"""

from collections.abc import Mapping
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
from moorage.model.selectors import LabelSelector

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 10.0
"""The defaults of upstream's podInitialBackoffSeconds and podMaxBackoffSeconds."""
PRE_BIND_TIMEOUT_SECONDS = 600
"""The longest time for PreBind if no plugin sets a limit; the default of upstream's bindTimeoutSeconds."""


@dataclass(frozen=True, slots=True)
class PolicyReference:
    """The SchedulingPolicy that a profile was compiled from, and its generation."""

    name: str
    uid: str
    generation: int
    filter_fields: Mapping[str, str] = field(default_factory=dict)
    """For each requirement of the enforced node affinity, the field of `spec` that the requirement comes from."""


@dataclass(frozen=True, slots=True)
class CanaryShare:
    """The share of the pods of another policy that a canary takes."""

    of: str
    """The name of the other policy."""
    percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """A profile's settings other than its plugins."""

    percentage_of_nodes_to_score: int = 0
    """The percentage of nodes that must fit before the search ends. 0 means a percentage that depends on the number of
    nodes."""
    initial_backoff_seconds: float = INITIAL_BACKOFF_SECONDS
    """The backoff after a pod's first failed attempt. Each further failure doubles the backoff."""
    max_backoff_seconds: float = MAX_BACKOFF_SECONDS
    """The longest backoff; 0 means no backoff."""
    paused: bool = False
    """Whether the profile is loaded but schedules no pods."""
    shadow_of: str = ""
    """The schedulerName of the pods for which the profile decides as a shadow, without binding them. Empty if the
    profile is not a shadow."""
    canary: CanaryShare | None = None
    """The share of another policy's pods that the profile takes; None if it takes no share."""
    strict_preemption: bool = False
    """Whether preemption removes victims through the eviction API, so that the API server enforces disruption budgets.
    kube-scheduler deletes victims instead."""
    allowed_namespaces: LabelSelector | None = None
    """Selects by labels the namespaces that may use the profile; None selects all."""
    extenders: tuple[Extender, ...] = ()
    """Web services that filter and score nodes after the plugins, in the order of the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """A requested profile: `plugins` and `plugin_config` change the defaults, as in KubeSchedulerProfile."""

    scheduler_name: str
    plugins: Plugins = field(default_factory=Plugins)
    plugin_config: tuple[PluginConfig, ...] = ()
    settings: ProfileSettings = ProfileSettings()
    policy: PolicyReference | None = None
    filters_before_resources: tuple[str, ...] = ()
    """Filter plugins that run, in this order, before the plugins that check free ports and resources. If they reject a
    full node, the message about the pod shows their reason."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A Score plugin and its weight."""

    plugin: ScorePlugin[Any]
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """A live profile: plugins by extension point, in the order in which they run."""

    name: str
    """The schedulerName of the profile's pods."""
    queue_sort: QueueSortPlugin
    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    pre_filter: tuple[PreFilterPlugin[Any], ...] = ()
    filter: tuple[FilterPlugin[Any], ...] = ()
    post_filter: tuple[PostFilterPlugin, ...] = ()
    pre_score: tuple[ScorePlugin[Any], ...] = ()
    """Separate from `score`, because a plugin's PreScore runs even if its Score is disabled (as in upstream)."""
    score: tuple[WeightedScore, ...] = ()
    reserve: tuple[ReservePlugin, ...] = ()
    bind: tuple[BindPlugin, ...] = ()
    settings: ProfileSettings = ProfileSettings()
    policy: PolicyReference | None = None
    spec: ProfileSpec | None = None
    """The specification that the registry built the profile from."""
    warning_plugins: tuple[Plugin, ...] = ()
    """The plugins that have `pod_warnings`; most profiles have none."""

    @property
    def pre_bind_timeout_seconds(self) -> int:
        """The longest time that PreBind may take, in seconds: the shortest limit of any plugin, or the default."""
        limits = (plugin.pre_bind_timeout_seconds for plugin in self.reserve)
        return min((limit for limit in limits if limit is not None), default=PRE_BIND_TIMEOUT_SECONDS)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Each plugin once, in the order of its first appearance."""
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
