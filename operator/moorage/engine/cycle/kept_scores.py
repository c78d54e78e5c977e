"""Scores that depend on each node and its pods alone, kept from one pod of a shape to the next.

Between two decisions few nodes change: as a rule the one that the last pod went to. They are scored again together, as
soon as one of them is among the nodes that are asked about: where cycles look at a part of the cluster in turn, that is
once a round.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.decision import CycleError, PluginScores
from moorage.framework.extension_points import MAX_NODE_SCORE, ScorePlugin
from moorage.framework.profile import WeightedScore
from moorage.model.pods.pod import Pod

FEW_NODES = 200
"""Up to here, to score all nodes of a view costs no more than to find out which ones of the cluster changed."""
WORTHWHILE = 8
"""Where more than one node in this many changed, all are scored anew: gathering them costs more than it saves."""


class Scores(Struct, frozen=True, eq=False):
    """What plugins give a view's nodes, and the weighted sum of it. The arrays are never written again."""

    by_plugin: Callable[[], Sequence[PluginScores]]
    """In the order of the plugins; put together only where somebody wants to know."""
    total: IntArray


class KeptScores:
    """The scores of plugins with `has_local_score`, for one shape and as long as no node itself is another."""

    def __init__(self, entries: Sequence[WeightedScore]) -> None:
        """Keep nothing yet."""
        self._entries = entries
        self._raws: tuple[IntArray, ...] = ()
        self._total: IntArray | None = None
        self._generation = 0
        """Of pods: that of what is kept."""

    def of(self, pod: Pod, nodes: Snapshot) -> Scores:
        """Score a view's nodes for a pod of the shape; CycleError where a plugin leaves its range."""
        if nodes.size <= FEW_NODES:
            raws = self._score(pod, nodes)
            return Scores(lambda: self._named(raws), self._sum(raws))
        total = self._total
        if total is None or nodes.last_pod_generation > self._generation:
            total = self._total = self._brought_up_to_date(total, pod, nodes.cluster)
            self._generation = nodes.generations.pods
        kept = self._raws
        return Scores(lambda: self._named([nodes.gather(raw) for raw in kept]), nodes.gather(total))

    def _brought_up_to_date(self, total: IntArray | None, pod: Pod, cluster: Snapshot) -> IntArray:
        (changed,) = (cluster.pod_generations > self._generation).nonzero()
        if total is None or changed.size * WORTHWHILE > cluster.size:
            self._raws = self._score(pod, cluster)
            return self._sum(self._raws)
        raws = self._score(pod, NodesView(cluster, changed))
        self._raws = tuple(_patched(kept, changed, raw) for kept, raw in zip(self._raws, raws, strict=True))
        return _patched(total, changed, self._sum(raws))

    def _score(self, pod: Pod, nodes: Snapshot) -> tuple[IntArray, ...]:
        raws = tuple(entry.plugin.score(None, pod, nodes) for entry in self._entries)
        for entry, raw in zip(self._entries, raws, strict=True):
            check_range(entry.plugin, raw)
        return raws

    def _sum(self, raws: Sequence[IntArray]) -> IntArray:
        weighted = [
            raw if entry.weight == 1 else raw * entry.weight for entry, raw in zip(self._entries, raws, strict=True)
        ]
        return weighted[0] if len(weighted) == 1 else np.add.reduce(weighted)

    def _named(self, raws: Sequence[IntArray]) -> list[PluginScores]:
        return [
            PluginScores(entry.plugin.name, entry.weight, raw, raw)
            for entry, raw in zip(self._entries, raws, strict=True)
        ]


def check_range(plugin: ScorePlugin[Any], scores: IntArray) -> None:
    """Raise CycleError where a normalised score is none of 0..MAX_NODE_SCORE."""
    if np.maximum.reduce(scores.view(np.uint64)) > MAX_NODE_SCORE:  # read as unsigned, a negative score is a huge one
        wrong = int(scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0])
        raise CycleError(
            f'applying score defaultWeights on Score plugins: plugin "{plugin.name}" returns an invalid score {wrong}, '
            f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
        )


def _patched(kept: IntArray, positions: IntArray, entries: IntArray) -> IntArray:
    patched = kept.copy()
    patched[positions] = entries
    return patched
