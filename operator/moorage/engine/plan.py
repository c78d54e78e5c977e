"""The part of a profile that concerns pods of one shape: worked out once a shape, followed for each of its pods.

Most plugins have nothing to say about most pods. To hear that again from each of them, for every pod of a template,
would take longer than the rest of its decision.
"""

from typing import Any

from msgspec import Struct

from moorage.framework.interface import FilterPlugin, PreFilterPlugin, ScorePlugin
from moorage.framework.profile import Profile, WeightedScore
from moorage.framework.snapshot import Snapshot
from moorage.model.pod import PodShape


class Plan(Struct, frozen=True, eq=False):
    """The plugins that are asked about a pod, in the profile's order; all others would answer SKIP."""

    pre_filter: tuple[PreFilterPlugin[Any], ...] = ()
    filter: tuple[FilterPlugin[Any], ...] = ()
    pre_score: tuple[ScorePlugin[Any], ...] = ()
    score: tuple[WeightedScore, ...] = ()


NOTHING = Plan()


def plan_for(profile: Profile, shape: PodShape, snapshot: Snapshot) -> Plan:
    """Return the plan for pods of a shape."""
    return snapshot.memo(profile, shape, None, lambda: _make(profile, shape))


def _make(profile: Profile, shape: PodShape) -> Plan:
    silent = {plugin for plugin in profile.pre_filter if plugin.skips_filter(shape)}
    unmoved = {plugin for plugin in profile.pre_score if plugin.skips_score(shape)}
    return Plan(
        pre_filter=tuple(plugin for plugin in profile.pre_filter if plugin not in silent),
        filter=tuple(plugin for plugin in profile.filter if plugin not in silent),
        pre_score=tuple(plugin for plugin in profile.pre_score if plugin not in unmoved),
        score=tuple(entry for entry in profile.score if entry.plugin not in unmoved),
    )
