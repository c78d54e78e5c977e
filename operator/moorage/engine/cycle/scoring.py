"""Score: plugins score the nodes that fit. The weighted scores are added; a seed decides between equal sums.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins),
pkg/scheduler/schedule_one.go (prioritizeNodes, selectHost).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from moorage.cluster.arrays import IntArray
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.kept_scores import KeptScores, check_range, score_nodes
from moorage.engine.cycle.plan import Plan, plan_for
from moorage.engine.cycle.pre_filter import States
from moorage.engine.cycle.score_table import PluginScores, ScoreTable
from moorage.engine.recorder import NO_RECORDER, PRE_SCORE, SCORE, Recorder
from moorage.framework.extension_points import ScorePlugin
from moorage.framework.profile import Profile, WeightedScore
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod


def run_scores(profile: Profile, pod: Pod, nodes: Snapshot, recorder: Recorder = NO_RECORDER) -> ScoreTable:
    """Score all nodes of a view; raise CycleError if a plugin fails or a score is out of range."""
    if not profile.score:
        return ScoreTable(profile, nodes, (), np.ones(nodes.size, np.int64))
    plan = plan_for(profile, pod.shape, nodes.cluster)
    started = recorder.now()
    states, skipped = _run_pre_score(plan, pod, nodes, recorder)
    left = plan.without(skipped)
    started = recorder.observe_point(PRE_SCORE, Code.SUCCESS, profile.name, started, left.pre_score)
    if plan.score_fault:
        raise CycleError(plan.score_fault)
    kept = _kept_scores(plan, pod, nodes.cluster).of(pod, nodes, recorder) if plan.local_score else None
    static = _static_scores(plan, pod, nodes.cluster, recorder)
    scores: list[PluginScores] = []
    level = 0
    total = np.zeros(nodes.size, np.int64) if kept is None else kept.total
    for entry in left.score:
        score = static.get(entry.plugin)
        if score is None:
            state = states.get(entry.plugin)
            raw = score_nodes(entry.plugin, state, pod, nodes, recorder)
            score = _normalized(entry, state, pod, nodes, raw)
        elif not isinstance(score, PluginScores):
            score = _normalized(entry, None, pod, nodes, nodes.gather(score))
        if isinstance(score.normalized, int):
            level += score.normalized * entry.weight
        else:
            total = total + score.weighted  # not in place: the kept total must not change
        scores.append(score)
    total = total + level if level else total
    recorder.observe_point(SCORE, Code.SUCCESS, profile.name, started, left.scorers)
    return ScoreTable(profile, nodes, scores, total, kept.part if kept else None)


def add_extender_scores(table: ScoreTable, scores: Mapping[str, int]) -> IntArray:
    """Return the totals of `table` plus `scores`, the extenders' scores by node name."""
    return table.total + np.array([scores.get(name, 0) for name in table.node_names], np.int64)


def select_host(total: IntArray, seed: int, cycle: int) -> int:
    """Return the position of a node with the highest total. All such nodes are equally likely.

    Equal arguments give equal results.
    """
    (best,) = (total == np.maximum.reduce(total)).nonzero()
    return int(best[draw(seed, cycle) % len(best)]) if len(best) > 1 else int(best[0])


_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
"""SplitMix64's increment: 2^64 divided by the golden ratio."""


def draw(seed: int, cycle: int) -> int:
    """Return a pseudo-random number below 2^64: number `cycle` of the SplitMix64 sequence of `seed`.

    It replaces a random generator, so that the same seed and the same events reproduce every decision.
    """
    mixed = (seed + (cycle + 1) * _GOLDEN) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


def _run_pre_score(plan: Plan, pod: Pod, nodes: Snapshot, recorder: Recorder) -> tuple[States, list[ScorePlugin[Any]]]:
    """Return the states of the PreScore plugins, and the plugins that returned Skip."""
    states: States = {}
    skipped: list[ScorePlugin[Any]] = []
    for plugin in plan.pre_score:
        started = recorder.now() if recorder.samples_plugins else 0.0
        result = plugin.pre_score(pod, nodes)
        if recorder.samples_plugins:
            recorder.observe_plugin(plugin.name, PRE_SCORE, result.status.code, started)
        if result.status.code is Code.SKIP:
            skipped.append(plugin)
        elif result.status.is_success:
            states[plugin] = result.state
        else:
            raise CycleError(f'running PreScore plugin "{plugin.name}": {result.status.message}')
    return states, skipped


def _kept_scores(plan: Plan, pod: Pod, cluster: Snapshot) -> KeptScores:
    generation = (cluster.generations.nodes, cluster.generations.images)
    return cluster.memo((plan, "kept"), pod.shape, generation, lambda: KeptScores(plan.local_score))


def _static_scores(
    plan: Plan, pod: Pod, cluster: Snapshot, recorder: Recorder
) -> Mapping[ScorePlugin[Any], PluginScores | IntArray]:
    """Return the raw scores of the plugins with `has_static_score`, for all nodes of the cluster.

    If all raw scores of a plugin are equal, its normalized scores are equal too, on every view. Both are then stored as
    plain numbers.
    """

    def compute() -> dict[ScorePlugin[Any], PluginScores | IntArray]:
        static: dict[ScorePlugin[Any], PluginScores | IntArray] = {}
        for entry in plan.score:
            if entry.plugin.has_static_score:
                raw = score_nodes(entry.plugin, None, pod, cluster, recorder)
                static[entry.plugin] = _level(entry, pod, cluster, raw) if raw.min() == raw.max() else raw
        return static

    generation = (cluster.generations.nodes, cluster.generations.images)
    return cluster.memo((plan, "scores"), pod.shape, generation, compute)


def _level(entry: WeightedScore, pod: Pod, cluster: Snapshot, raw: IntArray) -> PluginScores:
    """Return plain numbers as the scores of a plugin whose raw scores are all equal; normalize on one node only."""
    one = NodesView(cluster, np.zeros(1, np.int64))
    score = _normalized(entry, None, pod, one, raw[:1])
    return PluginScores(entry.plugin.name, entry.weight, int(raw[0]), int(np.max(score.normalized)))


def _normalized(entry: WeightedScore, state: object, pod: Pod, nodes: Snapshot, raw: IntArray) -> PluginScores:
    normalized = entry.plugin.normalize(state, pod, nodes, raw)
    check_range(entry.plugin, normalized)
    return PluginScores(entry.plugin.name, entry.weight, raw, normalized)
