"""The plugins of a profile that run for pods of one shape, selected once for each shape.

Most plugins return Skip for most pods. Without a plan, the calls of these plugins would take longer than the rest of
a pod's cycle.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from moorage.cluster.snapshot import Snapshot
from moorage.framework.extension_points import FilterPlugin, Plugin, PreFilterPlugin, ScorePlugin
from moorage.framework.profile import Profile, WeightedScore
from moorage.model.pods.pod import PodShape


class Plan(Struct, frozen=True, eq=False):
    """The plugins to run for a pod, in the order of the profile. All other plugins of the profile would return Skip."""

    pre_filter: tuple[PreFilterPlugin[Any], ...] = ()
    filter: tuple[FilterPlugin[Any], ...] = ()
    pre_score: tuple[ScorePlugin[Any], ...] = ()
    score: tuple[WeightedScore, ...] = ()
    """Score plugins, except those in `local_score`."""
    local_score: tuple[WeightedScore, ...] = ()
    """Score plugins whose scores are kept between cycles; their PreScore does not run."""
    scorers: tuple[ScorePlugin[Any], ...] = ()
    """The plugins of `score` and `local_score`."""
    unprepared: tuple[FilterPlugin[Any], ...] = ()
    """The plugins of `filter` that need their PreFilter, which the profile has disabled. They fail on every node."""
    score_fault: str = ""
    """The error of the first Score plugin that needs its PreScore or PreFilter, which the profile has disabled. Empty
    if there is no such plugin."""
    shorter: dict[tuple[Plugin, ...], "Plan"] = field(default_factory=dict)
    """The earlier results of `without`, by its argument."""

    def without(self, skipped: Iterable[Plugin]) -> "Plan":
        """Return the plan without the plugins that returned Skip. Equal arguments give the same object."""
        key = tuple(skipped)
        if not key:
            return self
        if key not in self.shorter:
            self.shorter[key] = replace(
                self,
                pre_filter=tuple(plugin for plugin in self.pre_filter if plugin not in key),
                filter=tuple(plugin for plugin in self.filter if plugin not in key),
                pre_score=tuple(plugin for plugin in self.pre_score if plugin not in key),
                score=tuple(entry for entry in self.score if entry.plugin not in key),
                scorers=tuple(plugin for plugin in self.scorers if plugin not in key),
                shorter={},
            )
        return self.shorter[key]


NOTHING = Plan()


def plan_for(profile: Profile, shape: PodShape, snapshot: Snapshot) -> Plan:
    """Return the plan for pods of a shape."""
    return snapshot.memo(profile, shape, None, lambda: _make(profile, shape))


def _make(profile: Profile, shape: PodShape) -> Plan:
    no_filter = {plugin for plugin in profile.pre_filter if plugin.skips_filter(shape)}
    no_score = {plugin for plugin in profile.pre_score if plugin.skips_score(shape)}
    scoring = [entry for entry in profile.score if entry.plugin not in no_score]
    local = {entry.plugin for entry in scoring if entry.plugin.has_local_score}
    faults = [
        f'running Score plugins: plugin "{entry.plugin.name}" failed with: {entry.plugin.without_pre_score}'
        for entry in profile.score
        if entry.plugin.without_pre_score and not _is_prepared(entry.plugin, profile)
    ]
    return Plan(
        pre_filter=tuple(plugin for plugin in profile.pre_filter if plugin not in no_filter),
        filter=tuple(plugin for plugin in profile.filter if plugin not in no_filter),
        pre_score=tuple(plugin for plugin in profile.pre_score if plugin not in no_score | local),
        score=tuple(entry for entry in scoring if entry.plugin not in local),
        local_score=tuple(entry for entry in scoring if entry.plugin in local),
        scorers=tuple(entry.plugin for entry in scoring),
        unprepared=tuple(
            plugin for plugin in profile.filter if plugin.without_pre_filter and plugin not in profile.pre_filter
        ),
        score_fault=faults[0] if faults else "",
    )


def _is_prepared(plugin: ScorePlugin[Any], profile: Profile) -> bool:
    """Return whether the profile enables the plugin's PreScore, or its PreFilter if the plugin has no PreScore."""
    has_pre_score = type(plugin).pre_score is not ScorePlugin.pre_score
    return plugin in (profile.pre_score if has_pre_score else profile.pre_filter)
