"""The score of PodTopologySpread: nodes in domains with fewer pods score higher.

Upstream: `pkg/scheduler/framework/plugins/podtopologyspread/scoring.go`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from moorage.cluster.arrays import ABSENT
from moorage.framework.extension_points import MAX_NODE_SCORE
from moorage.plugins.shared.spread_defaults import HOSTNAME
from moorage.plugins.shared.spread_domains import nodes_with_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.plugins.shared.spread_domains import SpreadDomains

FloatArray = npt.NDArray[np.float64]

HALF = 0.5


class SpreadScores(Struct, frozen=True, eq=False):
    """The scores of one cycle before normalization: a node in a domain with fewer pods has a lower score."""

    raw: FloatArray
    """The score of each node of the view, before rounding."""
    ignored: BoolArray | None
    """Nodes that lack a topology key and score 0; None if there are none."""

    def rounded(self) -> IntArray:
        """Return the rounded scores. Halves are rounded up, as Go's math.Round does for positive numbers."""
        whole = self.raw.astype(np.int64)
        rounded = whole + (self.raw - whole >= HALF)
        return rounded if self.ignored is None else np.where(self.ignored, 0, rounded)

    def normalized(self, scores: IntArray) -> IntArray:
        """Reverse the rounded scores, and scale them by the lowest and the highest score of the nodes that count."""
        considered = scores if self.ignored is None else scores[~self.ignored]
        if not considered.size:
            return np.zeros_like(scores)
        low, high = int(considered.min()), int(considered.max())
        reversed_ = MAX_NODE_SCORE * (high + low - scores) // high if high else np.full_like(scores, MAX_NODE_SCORE)
        return reversed_ if self.ignored is None else np.where(self.ignored, 0, reversed_)


def spread_scores(constraints: Sequence[SpreadDomains], nodes: Snapshot, *, all_keys: bool) -> SpreadScores:
    """Sum the scores of soft constraints. With `all_keys`, ignore nodes that lack one of the topology keys."""
    ignored = None
    if all_keys and not all(each.domains.complete for each in constraints):
        labelled = nodes_with_keys((each.constraint.topology_key for each in constraints), nodes)
        ignored = None if labelled.all() else ~labelled
    raw = np.zeros(nodes.size, np.float64)
    for each in constraints:
        scores = _score(each, nodes, ignored)
        raw += scores if all_keys else _where_labelled(each.constraint.topology_key, scores, nodes)
    return SpreadScores(raw, ignored)


def _score(resolved: SpreadDomains, nodes: Snapshot, ignored: BoolArray | None) -> FloatArray:
    """Score each node by the pod count of its domain, times a weight for the number of domains in the view."""
    constraint = resolved.constraint
    # Upstream adds this number, so that differences within maxSkew matter less.
    tolerance = constraint.max_skew - 1
    if constraint.topology_key == HOSTNAME:
        counts = np.zeros(nodes.size, np.int64) if resolved.counted is None else nodes.counted(resolved.counted)
        size = nodes.size - (0 if ignored is None else int(np.count_nonzero(ignored)))
        return np.multiply(counts, _weight(size), dtype=np.float64) + tolerance
    ids = nodes.gather(resolved.domains.ids)
    size = int(np.count_nonzero(np.bincount(ids if ignored is None else ids[~ignored])))
    table = np.multiply(resolved.count(nodes.cluster), _weight(size), dtype=np.float64) + tolerance
    return table.take(ids)


def _where_labelled(key: str, scores: FloatArray, nodes: Snapshot) -> FloatArray:
    """Return the scores, with 0 for nodes that lack the label."""
    return np.where(nodes.label(key).ids != ABSENT, scores, 0.0)


def _weight(domains: int) -> float:
    """Return the weight of a topology key. A key with few domains has larger counts, so it gets a lower weight."""
    return math.log(domains + 2)
