"""Scores that depend only on each node and its pods, kept for the next pod of the same shape."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.kept_arrays import FEW_NODES, KeptArrays
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.score_table import KeptPart
from moorage.engine.recorder import NO_RECORDER, SCORE, Recorder
from moorage.framework.extension_points import MAX_NODE_SCORE, ScorePlugin
from moorage.framework.profile import WeightedScore
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod


class ViewScores(Struct, frozen=True, eq=False):
    """The scores of the nodes of a view. Callers must not write to the arrays."""

    part: KeptPart
    """The scores by plugin."""
    total: IntArray
    """The sum of all weighted scores by node."""


class KeptScores:
    """The scores of the plugins with `has_local_score` for one shape; valid until any node object changes."""

    def __init__(self, entries: Sequence[WeightedScore]) -> None:
        """Start without scores."""
        self._entries = entries
        self._arrays = KeptArrays()
        """The scores by plugin, and their sum."""

    def of(self, pod: Pod, nodes: Snapshot, recorder: Recorder = NO_RECORDER) -> ViewScores:
        """Return the scores of a view's nodes for a pod of the shape; raise CycleError for a score out of range."""
        if nodes.size <= FEW_NODES:
            raws = self._score(pod, nodes, recorder)
            return ViewScores(KeptPart(self._entries, raws, by_slot=False), self._sum(raws))
        *raws_by_slot, total = self._arrays.of(nodes, partial(self._score_with_sum, pod, recorder))
        return ViewScores(KeptPart(self._entries, raws_by_slot, by_slot=True), nodes.gather(total))

    def _score_with_sum(self, pod: Pod, recorder: Recorder, nodes: Snapshot) -> tuple[IntArray, ...]:
        raws = self._score(pod, nodes, recorder)
        return (*raws, self._sum(raws))

    def _score(self, pod: Pod, nodes: Snapshot, recorder: Recorder) -> tuple[IntArray, ...]:
        raws = tuple(score_nodes(entry.plugin, None, pod, nodes, recorder) for entry in self._entries)
        for entry, raw in zip(self._entries, raws, strict=True):
            check_range(entry.plugin, raw)
        return raws

    def _sum(self, raws: Sequence[IntArray]) -> IntArray:
        weighted = [
            raw if entry.weight == 1 else raw * entry.weight for entry, raw in zip(self._entries, raws, strict=True)
        ]
        return weighted[0] if len(weighted) == 1 else np.add.reduce(weighted)


def score_nodes(plugin: ScorePlugin[Any], state: Any, pod: Pod, nodes: Snapshot, recorder: Recorder) -> IntArray:
    """Return a plugin's raw scores, and record the call if the cycle records calls of plugins."""
    if not recorder.samples_plugins:
        return plugin.score(state, pod, nodes)
    started = recorder.now()
    raw = plugin.score(state, pod, nodes)
    recorder.observe_plugin(plugin.name, SCORE, Code.SUCCESS, started)
    return raw


def check_range(plugin: ScorePlugin[Any], scores: IntArray) -> None:
    """Raise CycleError if a normalized score is not in 0..MAX_NODE_SCORE."""
    if np.maximum.reduce(scores.view(np.uint64)) > MAX_NODE_SCORE:  # a negative score, read as unsigned, is huge
        wrong = int(scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0])
        raise CycleError(
            f'applying score defaultWeights on Score plugins: plugin "{plugin.name}" returns an invalid score {wrong}, '
            f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
        )
