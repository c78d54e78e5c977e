"""The default scaling of raw scores to 0..MAX_NODE_SCORE.

Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go, DefaultNormalizeScore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.extension_points import MAX_NODE_SCORE

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray


def default_normalize(scores: IntArray, *, reverse: bool = False) -> IntArray:
    """Scale scores so that the highest becomes MAX_NODE_SCORE.

    With `reverse`, return MAX_NODE_SCORE minus each scaled score. No score may be negative. If all scores are 0, all
    scaled scores are 0.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled: IntArray = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
