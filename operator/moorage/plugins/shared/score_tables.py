"""What the plugins of our own share: tables of 0 to 10, and nodes that come into question by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.extension_points import MAX_NODE_SCORE

if TYPE_CHECKING:
    from moorage.framework.cluster_events import ClusterEvent

MAX_TABLE_SCORE = 10
"""Tables that people write score 0 to 10."""
TABLE_UNIT = MAX_NODE_SCORE // MAX_TABLE_SCORE
"""What one point in such a table is worth in the framework's 0 to 100."""


def has_new_labels(event: ClusterEvent) -> bool:
    """Whether an event of a node adds it or changes its labels."""
    old, new = event.old, event.new
    return new is not None and (old is None or old.labels != new.labels)
