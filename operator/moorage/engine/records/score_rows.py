"""The scores of the best nodes, copied from the arrays of a cycle into one small array."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from msgspec import Struct

from moorage.cluster.arrays import IntArray
from moorage.engine.cycle.score_table import KeptPart, PluginScores
from moorage.engine.records.best_nodes import best_nodes
from moorage.engine.records.decision_record import NodeScore, PluginScore, Scores
from moorage.framework.profile import Profile

T = TypeVar("T")
Names = tuple[str, ...]
Weights = tuple[tuple[str, int], ...]

BYTES_OF_ROWS = 600
"""The approximate size of `ScoreRows` in bytes, without its largest array."""
KEPT_TUPLES = 1024


class ScoreRows(Struct, frozen=True, eq=False, gc=False):
    """The scores of the best nodes, the chosen node first."""

    nodes: Names
    plugins: Weights
    """The names and weights of the Score plugins that ran."""
    values: IntArray
    """Raw and normalized scores, shaped (node, plugin, 2)."""
    totals: IntArray
    extenders: IntArray | None
    ties: int
    skipped: Names

    @property
    def size_bytes(self) -> int:
        """The approximate size in memory."""
        return self.values.nbytes + BYTES_OF_ROWS

    def scores(self) -> Scores:
        """Return the scores as values."""
        totals = self.totals.tolist()
        extra = [0] * len(totals) if self.extenders is None else self.extenders.tolist()
        rows = self.values.tolist()
        return Scores(
            nodes=tuple(
                NodeScore(
                    name,
                    total,
                    tuple(PluginScore(*plugin, *pair) for plugin, pair in zip(self.plugins, row, strict=True)),
                    extenders,
                )
                for name, total, row, extenders in zip(self.nodes, totals, rows, extra, strict=True)
            ),
            margin=totals[0] - totals[1] if len(totals) > 1 else 0,
            ties=self.ties,
            skipped=self.skipped,
        )


class CapturedScores(Struct, frozen=True, eq=False, gc=False):
    """The scores of a cycle, without the cycle's view of the nodes, which takes more memory."""

    total: IntArray
    kept: KeptPart | None
    computed: Sequence[PluginScores]
    slots: IntArray | None
    """The slots of the scored nodes; None for all nodes of the cluster."""
    chosen: int
    """The position of the chosen node."""
    extender_scores: Mapping[str, int] | None = None
    """The extenders' scores by node name. `total` does not include these scores."""

    def rows(self, profile: Profile, names: Sequence[str]) -> ScoreRows:
        """Copy the rows of the best nodes. `names` are the names of all nodes by slot when the decision was made."""
        total, slots, extra = self.total, self.slots, None
        if self.extender_scores:
            scored = names if slots is None else [names[slot] for slot in slots.tolist()]
            extra = np.array([self.extender_scores.get(name, 0) for name in scored], np.int64)
            total = total + extra
        best = best_nodes(total, self.chosen)
        best_slots = best if slots is None else slots[best]
        plugins, values = self._values(best, best_slots)
        ran = dict(plugins)
        return ScoreRows(
            nodes=tuple([names[slot] for slot in best_slots.tolist()]),
            plugins=_shared(plugins),
            values=values,
            totals=total[best],
            extenders=None if extra is None else extra[best],
            ties=int(np.count_nonzero(total == total[self.chosen])),
            skipped=_shared(
                tuple([entry.plugin.name for entry in profile.score if entry.plugin.name not in ran]),
            ),
        )

    def _values(self, best: IntArray, best_slots: IntArray) -> tuple[Weights, IntArray]:
        kept = self.kept
        plugins: list[tuple[str, int]] = []
        values = np.empty((best.size, (len(kept.raws) if kept else 0) + len(self.computed), 2), np.int64)
        if kept is not None:
            where = best_slots if kept.by_slot else best
            for entry, scores in zip(kept.entries, kept.raws, strict=True):
                values[:, len(plugins), :] = scores[where, None]
                plugins.append((entry.plugin.name, entry.weight))
        for score in self.computed:
            raw, normalized = score.raw, score.normalized
            values[:, len(plugins), 0] = raw if isinstance(raw, int) else raw[best]
            values[:, len(plugins), 1] = normalized if isinstance(normalized, int) else normalized[best]
            plugins.append((score.plugin, score.weight))
        return tuple(plugins), values


@lru_cache(KEPT_TUPLES)
def _shared(values: T) -> T:
    """Return one object for all equal tuples."""
    return values
