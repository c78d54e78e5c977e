"""The part of a profile that concerns pods of one shape: worked out once a shape, followed for each of its pods.

Most plugins have nothing to say about most pods. To hear that again from each of them, for every pod of a template,
would take longer than the rest of its decision.
"""

from typing import Any

from msgspec import Struct

from moorage.cluster.snapshot import Snapshot
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin, ScorePlugin
from moorage.framework.profile import Profile, WeightedScore
from moorage.model.pods.pod import PodShape


class Plan(Struct, frozen=True, eq=False):
    """The plugins that are asked about a pod, in the profile's order; all others would answer SKIP."""

    pre_filter: tuple[PreFilterPlugin[Any], ...] = ()
    filter: tuple[FilterPlugin[Any], ...] = ()
    pre_score: tuple[ScorePlugin[Any], ...] = ()
    score: tuple[WeightedScore, ...] = ()
    local_score: tuple[WeightedScore, ...] = ()
    """Score plugins that are not among those, because their scores are kept; nor is their PreScore run."""
    unprepared: tuple[FilterPlugin[Any], ...] = ()
    """Those of `filter` that fail, because the profile has disabled their PreFilter."""
    score_fault: str = ""
    """What Score fails with, because the profile has disabled a plugin's PreScore; empty where it works."""


NOTHING = Plan()


def plan_for(profile: Profile, shape: PodShape, snapshot: Snapshot) -> Plan:
    """Return the plan for pods of a shape."""
    return snapshot.memo(profile, shape, None, lambda: _make(profile, shape))


def _make(profile: Profile, shape: PodShape) -> Plan:
    silent = {plugin for plugin in profile.pre_filter if plugin.skips_filter(shape)}
    unmoved = {plugin for plugin in profile.pre_score if plugin.skips_score(shape)}
    moved = [entry for entry in profile.score if entry.plugin not in unmoved]
    local = {entry.plugin for entry in moved if entry.plugin.has_local_score}
    faults = [
        f'running Score plugins: plugin "{entry.plugin.name}" failed with: {entry.plugin.without_pre_score}'
        for entry in profile.score
        if entry.plugin.without_pre_score and not _is_prepared(entry.plugin, profile)
    ]
    return Plan(
        pre_filter=tuple(plugin for plugin in profile.pre_filter if plugin not in silent),
        filter=tuple(plugin for plugin in profile.filter if plugin not in silent),
        pre_score=tuple(plugin for plugin in profile.pre_score if plugin not in unmoved | local),
        score=tuple(entry for entry in moved if entry.plugin not in local),
        local_score=tuple(entry for entry in moved if entry.plugin in local),
        unprepared=tuple(
            plugin for plugin in profile.filter if plugin.without_pre_filter and plugin not in profile.pre_filter
        ),
        score_fault=faults[0] if faults else "",
    )


def _is_prepared(plugin: ScorePlugin[Any], profile: Profile) -> bool:
    """Whether what a plugin's Score builds on runs: its PreScore or, if it has none, its PreFilter."""
    has_pre_score = type(plugin).pre_score is not ScorePlugin.pre_score
    return plugin in (profile.pre_score if has_pre_score else profile.pre_filter)
