"""PrioritySort: the queue's order.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.framework.extension_points import QueueSortPlugin

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod


class PrioritySort(QueueSortPlugin):
    """Puts pods of higher priority first, and among equals the one that has been in the queue for longer."""

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return the priority, negated, and the time of the last entry into the queue."""
        return (-pod.priority, queued_at)
